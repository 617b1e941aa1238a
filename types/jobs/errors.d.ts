/**
 * The family of errors that carry a stable code. A message says what happened and what to do;
 * it may be shown to anyone.
 */
export declare class StellwerkError extends Error {
    readonly code: string;
    constructor(code: string, message: string, options?: ErrorOptions);
}
/** A start that cannot go on: printed without a stack, exit code 1. */
export declare class StartError extends StellwerkError {
    constructor(message: string, options?: ErrorOptions);
}
/** The database does not answer. Nothing is known to have been written; if it may have been, `outcomeUnknown` says so. */
export declare class DatabaseUnavailable extends StellwerkError {
    readonly outcomeUnknown: boolean;
    constructor(options?: ErrorOptions & {
        outcomeUnknown?: boolean;
    });
}
/** Thrown by a handler: transient, but not before `ms` from now (the kind's backoff, if that is longer). Counts the attempt. */
export declare class RetryLater extends StellwerkError {
    readonly delayMs: number;
    constructor(ms: number, cause?: unknown);
}
/** Thrown by a handler: the error is permanent, the job goes to the dead-letter queue at once. */
export declare class NeverRetry extends StellwerkError {
    constructor(cause: unknown);
}
/** Thrown by a handler: call me again in `ms` (at least 100); the attempt is given back. */
export declare class Snooze extends StellwerkError {
    readonly delayMs: number;
    constructor(ms: number);
}
/** Why a handler's AbortSignal fired. */
export declare class JobAborted extends StellwerkError {
    readonly reason: 'timeout' | 'stop' | 'shutdown' | 'lease_lost';
    constructor(reason: JobAborted['reason'], message: string);
}
/** The claim was taken away while the handler ran: its writes are rolled back, nothing else is done. */
export declare class LeaseLost extends StellwerkError {
    constructor();
}
