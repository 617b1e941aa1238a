/** What a statement runs on: a pool, a client, or a transaction of `pg`. */
export interface Queryable {
    query(config: {
        name?: string;
        text: string;
        values?: unknown[];
    }): Promise<{
        rows: unknown[];
        rowCount: number | null;
    }>;
}
/** One SQL text under one prepared name; call it with a pool or a transaction and its parameters in order. */
export interface Statement<Params extends readonly unknown[], Row> {
    (db: Queryable, ...params: Params): Promise<Row[]>;
    readonly statementName: string;
    readonly text: string;
}
/**
 * Declares a statement. The text is constant: two plans are two statements.
 * `rowMode: 'array'` gives rows as tuples, for the statements that bring thousands of rows a second.
 */
export declare function statement<Params extends readonly unknown[], Row>(name: string, text: string, options?: {
    readonly rowMode?: 'array';
}): Statement<Params, Row>;
