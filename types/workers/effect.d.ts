import type { Queryable } from '../sql/statement.js';
/** A row that a run writes with its end: made by a function of `defineEffect`, returned in the handler's `effects`. */
export interface Effect {
    readonly writer: EffectWriter;
    readonly row: Readonly<Record<string, unknown>>;
}
interface EffectWriter {
    readonly name: string;
    readonly sql: string;
}
/** A row as it goes to the database, with the job it belongs to. */
export interface EffectRow {
    readonly writer: EffectWriter;
    readonly text: string;
}
/**
 * Declares a sort of rows that runs write with their ends. `sql` gets the rows of all jobs that end together as `$1`, a JSON array of
 * objects: what the handler gave, and `job_id` and `tenant_id`. It commits with `done` or not at all, like `commit(tx)`, but ends
 * that gather share one statement and one commit. A row that the database refuses is the failure of its own job alone.
 * Throws BAD_EFFECT where name or SQL is missing.
 */
export declare function defineEffect<Row extends object>({ name, sql }: EffectWriter): (row: Row) => Effect;
/** Throws where a row is no JSON. */
export declare function effectRows(effects: readonly Effect[], job: {
    readonly id: string;
    readonly tenantId: string;
}): EffectRow[];
/** One statement for all rows of a sort. */
export declare function writeEffects(tx: Queryable, rows: readonly EffectRow[]): Promise<void>;
export {};
