import type { JobKind } from '../jobs/kind.js';
import { type EnqueueInput, type Enqueued } from './enqueue-job.js';
/** A client, pool or transaction of `pg`. */
interface PgTransaction {
    query(text: string, values: unknown[]): Promise<{
        rows: unknown[];
        rowCount: number | null;
    }>;
}
/** A Prisma client, or the `tx` of its `$transaction(async (tx) => ...)`. */
interface PrismaTransaction {
    $queryRawUnsafe<Rows>(text: string, ...values: unknown[]): PromiseLike<Rows>;
}
/** What a job can be enqueued through. */
export type EnqueueTransaction = PgTransaction | PrismaTransaction;
/** A job to enqueue; `kind` is a name, or a kind made with `defineKind`, whose schema is then checked here. */
export type EnqueueJob = Omit<EnqueueInput, 'kind'> & {
    readonly kind: string | JobKind;
};
/**
 * Enqueues a job in the caller's own transaction: it exists if and only if that commits. The payload is checked here as far as
 * its schema is known; what is wrong with it or with the job throws, and nothing is written.
 */
export declare function enqueue(tx: EnqueueTransaction, job: EnqueueJob): Promise<Enqueued>;
export {};
