import type { Pools } from '../db/pool.ts'
import type { QueueNumbers } from '../events/queue-numbers.ts'
import type { Relay } from '../events/relay.ts'
import type { Wakeup } from '../events/wakeup.ts'
import type { Events } from '../jobs/event.ts'
import type { KindCatalogue } from '../jobs/kind.ts'
import { holdsScopes, type Caller, type Scope } from '../jobs/permissions.ts'
import type { SecretBox } from '../jobs/secret-box.ts'
import type { WebhookReach } from '../jobs/webhook-address.ts'
import type { Objects } from '../objects/open-objects.ts'
import type { ArchiveIntake } from '../objects/worm-archive.ts'
import { ApiError } from './api-error.ts'
import type { Enqueuer } from './enqueue-batcher.ts'
import type { FollowUp } from './follow-up.ts'
import { createLoaders, type Loaders } from './loaders.ts'
import type { TenantKeys } from './tenant-keys.ts'

/** What the use cases work with: one for the process. */
export interface ApiDeps {
  readonly pools: Pools
  readonly kinds: KindCatalogue
  readonly relay: Relay
  readonly queueNumbers: QueueNumbers
  readonly wakeup: Wakeup
  readonly enqueuer: Enqueuer
  readonly tenantKeys: TenantKeys
  readonly events: Events
  readonly environment: 'development' | 'production'
  readonly version: string
  /** How long done jobs are kept whose kind sets nothing of its own, in milliseconds. */
  readonly retentionMs: number
  /** An instance that was not heard of for so long is dead, in milliseconds. */
  readonly deadAfterMs: number
  /** What the own rows of some kinds do when a person moves their job, by kind. */
  readonly followUps: ReadonlyMap<string, FollowUp>
  /** Encrypts what is stored secretly; null: there is no STELLWERK_SECRET_KEY. */
  readonly secrets: SecretBox | null
  /** Where webhooks may go. */
  readonly webhookReach: WebhookReach
  /** Where bytes lie, and the URLs under which callers put and get them. */
  readonly objects: Pick<Objects, 'store' | 'links'>
  readonly maxUploadBytes: number
  /** Where documents are stored. */
  readonly archive: ArchiveIntake
}

/** What is left to a caller, in cost points. */
export interface Budget {
  readonly limit: number
  readonly remaining: number
  /** Points that come back each second. */
  readonly perSecond: number
}

/** One operation: who asks, under which id, and what was already read for it. */
export interface RequestContext {
  readonly deps: ApiDeps
  readonly caller: Caller | null
  readonly requestId: string
  /** The W3C header of the request; kept with the jobs it enqueues. */
  readonly traceparent: string | null
  /** What is left to the caller once this operation is paid; null: there is none to keep to. */
  readonly budget: () => Budget | null
  readonly loaders: Loaders
}

/** The context of one operation. A subscription makes one for each message, since its loaders remember what they read. */
export function createRequestContext(
  deps: ApiDeps,
  {
    caller,
    requestId,
    traceparent,
    budget,
  }: Pick<RequestContext, 'caller' | 'requestId' | 'traceparent'> & Partial<Pick<RequestContext, 'budget'>>,
): RequestContext {
  let loaders: Loaders | undefined
  return {
    deps,
    caller,
    requestId,
    traceparent,
    budget: budget ?? (() => null),
    // Two dozen of them, and an operation that enqueues asks for none.
    get loaders() {
      return (loaders ??= createLoaders(deps.pools.api, caller, deps.deadAfterMs))
    },
  }
}

/**
 * First line of every use case: the caller, who holds every scope of at least one inner list (none given: who is signed in).
 * Throws UNAUTHENTICATED, TOKEN_EXPIRED or FORBIDDEN.
 */
export function authorize(context: RequestContext, anyOf: readonly (readonly Scope[])[]): Caller {
  const { caller } = context
  if (caller === null) {
    throw new ApiError('UNAUTHENTICATED', 'Nobody is signed in. Send the header `authorization: Bearer <token>`.')
  }
  if (caller.expiresAt !== null && caller.expiresAt.getTime() <= Date.now()) {
    throw new ApiError('TOKEN_EXPIRED', 'The token has expired. Sign in again and repeat the call with the new token.')
  }
  if (anyOf.length > 0 && !holdsScopes(caller, anyOf)) {
    const wanted = anyOf.map((all) => all.join(' and ')).join(', or ')
    throw new ApiError('FORBIDDEN', `This needs the scope ${wanted}. Ask an administrator for it.`)
  }
  return caller
}
