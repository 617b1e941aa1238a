import type { z } from 'zod';
import { type PartialKindDefaults } from '../jobs/kind-defaults.js';
import { type JobKind, type KindSchedule } from '../jobs/kind.js';
import type { FailureFollower, Handler } from './handler.js';
/** What one writes to add a kind of one's own. */
export interface KindDefinition<Schema extends z.ZodType> {
    /** a-z, 0-9, _; 1 to 63 characters; not one of the platform's own. */
    readonly name: string;
    readonly description?: string;
    /** A zod 4 schema of a JSON object; checked when a job is enqueued, and again when it runs. */
    readonly payload: Schema;
    /** A valid payload, for people to start from; may be missing where `{}` is one. */
    readonly example?: z.input<Schema>;
    /** JSON Pointers of payload parts that are masked without READ_PAYLOADS. */
    readonly redact?: readonly string[];
    /** What is missing here is as in the seed: 8 attempts, 30 s doubling up to 24 h, 5 minutes, stale after 15. */
    readonly defaults?: PartialKindDefaults;
    readonly run: Handler<z.output<Schema>>;
    /** In the transaction of dlq, stop, cancel, replay and discard, where a process that loaded this module makes the move. */
    readonly onFailure?: FailureFollower;
    /** Enqueues the kind with the payload `{}` once per tick over all instances. */
    readonly schedule?: KindSchedule;
}
/** A kind of one's own, checked: what the service knows of every kind, and what its jobs run. */
export interface OwnKind extends JobKind {
    readonly run: Handler;
    readonly onFailure: FailureFollower | null;
}
/** Checks the definition of a kind; throws one error whose sentences name the kind and each field that is wrong. */
export declare function defineKind<Schema extends z.ZodType>(definition: KindDefinition<Schema>): OwnKind;
