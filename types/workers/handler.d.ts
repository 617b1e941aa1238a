import type { QueryResult, QueryResultRow } from 'pg';
import type { EnqueueInput, Enqueued } from '../sql/enqueue-job.js';
import type { Effect } from './effect.js';
/** What a handler knows of its job. */
export interface JobFacts {
    readonly id: string;
    readonly tenantId: string;
    readonly kind: string;
    /** This run included; counts from 1 and starts anew after a replay. */
    readonly attempts: number;
    readonly maxAttempts: number;
    readonly priority: number;
    readonly createdAt: Date;
    readonly availableAt: Date;
    readonly idempotencyKey: string | null;
    readonly correlationId: string | null;
}
/** A handler's report of how far it is: at once to watchers, at most once a second to the row, never lost at the end. */
export interface ProgressReport {
    readonly done?: number;
    readonly total?: number;
    readonly message?: string;
    readonly data?: unknown;
}
/** The transaction in which the job becomes done: what is written here commits with it or not at all. */
export interface JobTransaction {
    query<Row extends QueryResultRow = QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
    /** Enqueues in the same transaction. */
    enqueue(job: EnqueueInput): Promise<Enqueued>;
}
/** Lines kept with the attempt (the last 100, 8 KiB) and written to the service's log. */
export interface JobLog {
    info(message: string): void;
    warn(message: string): void;
}
export interface HandlerContext<Payload> {
    readonly payload: Payload;
    readonly job: JobFacts;
    /** Fires at timeout, stop, cancel, shutdown and loss of the claim. */
    readonly signal: AbortSignal;
    progress(report: ProgressReport): Promise<void>;
    /**
     * A transaction in the middle of the run, for work that commits in slices: it holds the claim until it ends, and nothing of it
     * commits once the claim was taken back (LeaseLost). Keep it short, and wait for nothing else inside it.
     */
    transaction<T>(work: (tx: JobTransaction) => Promise<T>): Promise<T>;
    readonly log: JobLog;
}
export interface HandlerResult {
    /** Stored with the job, at most 64 KiB of JSON. */
    readonly result?: unknown;
    readonly commit?: (tx: JobTransaction) => Promise<void>;
    /** Rows that commit with the end, written in groups with those of other ends: 11 times the speed of a transaction for each (defineEffect). */
    readonly effects?: readonly Effect[];
}
/**
 * Does the work of one job. Resolves: done. Throws RetryLater, NeverRetry or Snooze: as they say; anything else: transient.
 * It may run twice (the effect happened, the commit was lost): each kind says how it tolerates that.
 */
export type Handler<Payload = unknown> = (context: HandlerContext<Payload>) => Promise<HandlerResult | void>;
/** What became of a job outside its handler, for `onFailure`. */
export type FailureOutcome = {
    readonly move: 'dlq' | 'stop' | 'cancel' | 'discard' | 'replay';
    readonly error: string | null;
};
/** Lets a kind's own rows follow its job out of the queue, in the transaction of the move. */
export type FailureFollower = (tx: JobTransaction, job: JobFacts, outcome: FailureOutcome) => Promise<void>;
