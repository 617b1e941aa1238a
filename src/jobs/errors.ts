/**
 * The family of errors that carry a stable code. A message says what happened and what to do;
 * it may be shown to anyone.
 */
export class StellwerkError extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** A start that cannot go on: printed without a stack, exit code 1. */
export class StartError extends StellwerkError {
  constructor(message: string, options?: ErrorOptions) {
    super('START_REFUSED', message, options)
  }
}

/** The database does not answer. Nothing is known to have been written; if it may have been, `outcomeUnknown` says so. */
export class DatabaseUnavailable extends StellwerkError {
  readonly outcomeUnknown: boolean
  constructor(options?: ErrorOptions & { outcomeUnknown?: boolean }) {
    super('SERVICE_UNAVAILABLE', 'The database does not answer at the moment. Try again shortly.', options)
    this.outcomeUnknown = options?.outcomeUnknown ?? false
  }
}

/** Thrown by a handler: transient, but not before `ms` from now (the kind's backoff, if that is longer). Counts the attempt. */
export class RetryLater extends StellwerkError {
  readonly delayMs: number
  constructor(ms: number, cause?: unknown) {
    super('RETRY_LATER', messageOf(cause) ?? `The handler asked to be tried again in ${ms} ms.`, { cause })
    this.delayMs = ms
  }
}

/** Thrown by a handler: the error is permanent, the job goes to the dead-letter queue at once. */
export class NeverRetry extends StellwerkError {
  constructor(cause: unknown) {
    super('NEVER_RETRY', messageOf(cause) ?? 'The handler says that this can never succeed.', { cause })
  }
}

/** Thrown by a handler: call me again in `ms` (at least 100); the attempt is given back. */
export class Snooze extends StellwerkError {
  readonly delayMs: number
  constructor(ms: number) {
    super('SNOOZE', `The handler asked to be called again in ${ms} ms.`)
    this.delayMs = ms
  }
}

/** Why a handler's AbortSignal fired. */
export class JobAborted extends StellwerkError {
  readonly reason: 'timeout' | 'stop' | 'shutdown' | 'lease_lost'
  constructor(reason: JobAborted['reason'], message: string) {
    super('JOB_ABORTED', message)
    this.reason = reason
  }
}

/** The claim was taken away while the handler ran: its writes are rolled back, nothing else is done. */
export class LeaseLost extends StellwerkError {
  constructor() {
    super('LEASE_LOST', 'The claim on this job was taken back; the run changes nothing.')
  }
}

function messageOf(cause: unknown): string | undefined {
  if (cause instanceof Error) return cause.message
  return typeof cause === 'string' ? cause : undefined
}
