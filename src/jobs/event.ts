/**
 * Past facts, told after their commit to observers (log, metrics, tracing). One event covers a whole group:
 * a drain moves 40,000 jobs a second, and nobody may pay per job for what no one reads.
 *
 * | event | when |
 * | --- | --- |
 * | jobs:claimed | a claim statement committed |
 * | jobs:ended | a group of runs was settled; each end has its own outcome |
 * | jobs:recovered | claims of the dead or the stale were taken back |
 * | lease:lost | a run ended whose claim had been taken away; nothing was changed |
 * | handler:abandoned | a handler ignored its abort and its slot was replaced |
 * | loop:failed | a loop met an error, goes on after a pause |
 * | connection:lost / connection:restored | a long-lived connection broke, came back |
 * | kinds:differ | this instance registered other defaults for a kind than the database had |
 * | provider:out / provider:back | a provider takes no mail and its kind is paused for `ms` (told again each time), or takes it again |
 * | provider:paced | a provider asked for less (`reason`) or may have more again: its bucket has `rps` now; null: it has none |
 * | webhook:attempted | a request to a webhook endpoint has ended |
 * | webhook:disabled | an endpoint was switched off: it wants no more, has failed for too long, or lies where none may |
 * | bulk:started / bulk:batch / bulk:ended | a bulk operation was asked for, moved some jobs, came to its end (told by whoever ended it) |
 * | instance:lost | the database had given this instance up for dead; it registered anew |
 */
export type Event =
  | { readonly type: 'jobs:claimed'; readonly worker: string; readonly jobs: readonly ClaimedFacts[] }
  | { readonly type: 'jobs:ended'; readonly worker: string; readonly ends: readonly EndFacts[] }
  | { readonly type: 'jobs:recovered'; readonly jobs: readonly RecoveredFacts[] }
  | { readonly type: 'lease:lost'; readonly worker: string; readonly jobIds: readonly string[] }
  | { readonly type: 'handler:abandoned'; readonly worker: string; readonly jobId: string; readonly kind: string }
  | { readonly type: 'loop:failed'; readonly loop: string; readonly error: Error }
  | { readonly type: 'connection:lost'; readonly connection: string; readonly error: Error }
  | { readonly type: 'connection:restored'; readonly connection: string }
  | { readonly type: 'kinds:differ'; readonly kinds: readonly string[] }
  | {
      readonly type: 'provider:out'
      readonly provider: string
      readonly kind: string
      readonly fault: ProviderFault
      readonly reason: string
      readonly ms: number
    }
  | { readonly type: 'provider:back'; readonly provider: string; readonly kind: string }
  | {
      readonly type: 'provider:paced'
      readonly provider: string
      readonly kind: string
      readonly rps: number | null
      readonly reason: string | null
    }
  | {
      readonly type: 'webhook:attempted'
      readonly deliveryId: string
      readonly endpointId: string
      readonly tenantId: string
      readonly outcome: WebhookOutcome
      /** Null: there was no answer. */
      readonly status: number | null
      readonly durationMs: number
    }
  | {
      readonly type: 'webhook:disabled'
      readonly endpointId: string
      readonly tenantId: string
      readonly reason: string
    }
  | {
      readonly type: 'bulk:started'
      readonly operationId: string
      readonly action: BulkAction
      readonly matched: number
      readonly ratePerSecond: number | null
      readonly by: string
    }
  | {
      readonly type: 'bulk:batch'
      readonly operationId: string
      readonly action: BulkAction
      readonly succeeded: number
      readonly skipped: number
    }
  | ({ readonly type: 'bulk:ended' } & BulkEnd)
  | { readonly type: 'instance:lost'; readonly instanceId: string }

/** Taken by the receiver; to be tried again; not wanted any more (410); to a place where webhooks must not go. */
export type WebhookOutcome = 'delivered' | 'failed' | 'gone' | 'forbidden'

/** What can be done to many jobs. */
export type BulkAction = 'replay' | 'discard' | 'cancel' | 'stop'

/** How a bulk operation ended, and how many jobs it had moved by then, or found moved on. */
export interface BulkEnd {
  readonly operationId: string
  readonly action: BulkAction
  readonly status: 'completed' | 'cancelled' | 'faulted'
  readonly matched: number
  readonly succeeded: number
  readonly skipped: number
}

/** What ails a provider: it cannot be reached, or it refuses everybody (a password, a certificate). */
export type ProviderFault = 'unreachable' | 'refusing'

/** A run in hand is one: nothing is made for each job of a claim. Times in milliseconds since 1970 by the database's clock. */
export interface ClaimedFacts {
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  readonly attempts: number
  readonly createdMs: number
  readonly availableMs: number
  readonly claimedMs: number
}

export type EndOutcome = 'success' | 'retry' | 'dlq' | 'stopped' | 'released'
export type ReleaseCause = 'rate_limited' | 'shutdown' | 'paused' | 'snoozed' | 'surplus'

/** As with claims: the end of a run that succeeded is one, as it was settled. */
export interface EndFacts {
  readonly run: Pick<ClaimedFacts, 'id' | 'kind' | 'tenantId' | 'attempts'>
  readonly outcome: EndOutcome
  readonly durationMs: number
  readonly error: string | null
  readonly retryAt: Date | null
  /** Null: it did not go back. */
  readonly release: {
    readonly cause: ReleaseCause
    /** The handler never ran. */
    readonly unstarted: boolean
  } | null
}

export interface RecoveredFacts {
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  readonly attempts: number
  readonly cause: 'dead_instance' | 'stale'
  readonly status: 'pending' | 'dlq' | 'failed'
}

export interface Events {
  emit(event: Event): void
  /** Listens until the returned function is called. A listener that throws harms nobody else. */
  on(listener: (event: Event) => void): () => void
}

/** The bus inside one process. It isolates its listeners, once, here. */
export function createEvents(onListenerError: (error: unknown) => void): Events {
  const listeners = new Set<(event: Event) => void>()
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          onListenerError(error)
        }
      }
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
