import type { z } from 'zod';
/** What holds for the jobs of a kind unless the enqueuer says otherwise. Times in milliseconds. */
export interface KindDefaults {
    /** Lower runs first; 0 to 1,000. */
    readonly priority: number;
    /** At this many attempts a failure goes to the dead-letter queue; 1 to 100. */
    readonly maxAttempts: number;
    /** delay(n) = min(baseMs * 2^(n-1), maxMs) + random(0 .. jitter * delay) (SPEC section 5). */
    readonly backoff: {
        readonly baseMs: number;
        readonly maxMs: number;
        readonly jitter: number;
    };
    /** A run longer than this is aborted. */
    readonly timeoutMs: number;
    /** A claim older than this without a heartbeat is taken back. */
    readonly staleAfterMs: number;
    /** At most this many running at once over all instances; null: no cap. */
    readonly maxConcurrency: number | null;
    /** How long finished jobs are kept; null: STELLWERK_RETENTION_DAYS. */
    readonly retentionMs: number | null;
    /** Token bucket per tenant, unless the tenant has its own; null: none. */
    readonly rateLimit: {
        readonly rps: number;
        readonly burst: number;
    } | null;
    /** Name of the provider whose cap (STELLWERK_PROVIDER_<NAME>) its runs share; null: none. */
    readonly provider: string | null;
}
/** A kind of work: what its payload is and how its jobs are treated. Pure data, known to API and workers alike. */
export interface JobKind {
    readonly name: string;
    readonly description: string;
    readonly payload: z.ZodType;
    readonly example: unknown;
    /** JSON Pointers of payload parts that are masked without READ_PAYLOADS. */
    readonly redact: readonly string[];
    readonly defaults: KindDefaults;
    /** The field of the GraphQL input `JobInput` that enqueues it typed; null: `custom`. */
    readonly inputField: string | null;
    readonly schedule: KindSchedule | null;
    /**
     * At most so many of its runs at once in one process, over all its pools: they take memory or processor cores. `coresButOne`: one core
     * is left to everything else, where there is more than one. Without it: as many as there are slots.
     */
    readonly perInstance?: number | 'coresButOne';
}
/** When a kind enqueues itself, once per tick over all instances. */
export type KindSchedule = {
    readonly every: string;
} | {
    readonly cron: string;
    readonly timeZone?: string;
};
export declare const second = 1000;
export declare const minute: number;
export declare const hour: number;
export declare const day: number;
/** V1 backoff of the seed: 30 s, doubling up to 24 h, 10 % jitter. */
export declare const standardDefaults: KindDefaults;
/** All kinds that a process knows, by name. */
export type KindCatalogue = ReadonlyMap<string, JobKind>;
