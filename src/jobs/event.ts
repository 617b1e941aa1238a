/**
 * Past facts, told after their commit to observers (log, metrics, tracing). One event covers a whole group:
 * a drain moves 40,000 jobs a second, and nobody may pay per job for what no one reads.
 *
 * | event | when |
 * | --- | --- |
 * | jobs:claimed | a claim statement committed |
 * | jobs:ended | a group of runs was settled; each end has its own outcome |
 * | jobs:released | claims went back unstarted or without counting an attempt |
 * | jobs:recovered | claims of the dead or the stale were taken back |
 * | lease:lost | a run ended whose claim had been taken away; nothing was changed |
 * | handler:abandoned | a handler ignored its abort and its slot was replaced |
 * | loop:failed | a loop met an error, goes on after a pause |
 * | connection:lost / connection:restored | a long-lived connection broke, came back |
 * | kinds:differ | this instance registered other defaults for a kind than the database had |
 * | provider:out / provider:back | a provider takes no mail and its kind is paused for `ms` (told again each time), or takes it again |
 * | instance:lost | the database had given this instance up for dead; it registered anew |
 */
export type Event =
  | { readonly type: 'jobs:claimed'; readonly worker: string; readonly jobs: readonly ClaimedFacts[] }
  | { readonly type: 'jobs:ended'; readonly worker: string; readonly ends: readonly EndFacts[] }
  | {
      readonly type: 'jobs:released'
      readonly worker: string
      readonly cause: ReleaseCause
      readonly kinds: readonly string[]
    }
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
  | { readonly type: 'instance:lost'; readonly instanceId: string }

/** What ails a provider: it cannot be reached, it refuses everybody (a password, a certificate), or it asks for less. */
export type ProviderFault = 'unreachable' | 'refusing' | 'throttling'

export interface ClaimedFacts {
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  readonly attempts: number
  /** From created_at to the claim (the seed's claim latency). */
  readonly latencyMs: number
  /** From available_at to the claim. */
  readonly waitMs: number
}

export type EndOutcome = 'success' | 'retry' | 'dlq' | 'stopped' | 'released'
export type ReleaseCause = 'rate_limited' | 'shutdown' | 'paused' | 'snoozed' | 'surplus'

export interface EndFacts {
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  readonly attempts: number
  readonly outcome: EndOutcome
  readonly durationMs: number
  readonly error: string | null
  readonly retryAt: Date | null
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
