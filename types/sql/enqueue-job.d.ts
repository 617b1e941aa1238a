import type { Queryable } from './statement.js';
/** A job to enqueue from code. */
export interface EnqueueInput {
    readonly kind: string;
    readonly payload: Readonly<Record<string, unknown>>;
    /** Key or id. Default: `default`. */
    readonly tenant?: string;
    readonly idempotencyKey?: string;
    readonly onConflict?: 'ignore' | 'update';
    readonly priority?: number;
    readonly availableAt?: Date;
    readonly maxAttempts?: number;
    readonly tags?: readonly string[];
    readonly correlationId?: string;
}
export type EnqueueOutcome = 'created' | 'duplicate' | 'updated' | 'duplicate_mismatch';
export interface Enqueued {
    readonly jobId: string;
    readonly outcome: EnqueueOutcome;
}
type JobValues = [
    kind: string,
    payloadText: string,
    tenant: string,
    idempotencyKey: string | null,
    onConflict: 'ignore' | 'update',
    priority: number | null,
    availableAt: string | null,
    maxAttempts: number | null,
    tags: readonly string[],
    correlationId: string | null,
    notify: boolean
];
export declare const enqueueJob: import("./statement.js").Statement<JobValues, {
    job_id: string;
    outcome: EnqueueOutcome;
}>;
/** Enqueues one job in the caller's transaction; `notify` wakes the workers at its commit. */
export declare function enqueueOne(db: Queryable, job: EnqueueInput, notify?: boolean): Promise<Enqueued>;
export {};
