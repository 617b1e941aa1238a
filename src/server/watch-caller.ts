import type { Caller } from '../jobs/permissions.ts'
import { longestTimerMs } from '../jobs/ranges.ts'
import { AuthError, type Authenticate } from './auth.ts'

/** Why a stream must end. */
export type CallerLoss = 'expired' | 'refused' | 'rights lost' | 'tenant closed'

interface Watched {
  readonly authenticate: Authenticate
  readonly authorization: string
  readonly caller: Caller
  readonly onLoss: (why: CallerLoss) => void
  /** How often rights are looked at again. */
  readonly recheckMs?: number
}

/**
 * Watches over a caller while a stream lasts: tells when the token expires, when it was revoked or lost a scope or a tenant, and when a
 * tenant of the caller's was closed. It is looked at when a change of rights is signalled, and every 30 s in case none was. Answers a
 * function that ends the watch.
 */
export function watchCaller({ authenticate, authorization, caller, onLoss, recheckMs = 30_000 }: Watched): () => void {
  const expiry = caller.expiresAt === null ? undefined : setTimeoutAt(caller.expiresAt, () => onLoss('expired'))
  const check = (): void => {
    authenticate(authorization).then(
      (present) => {
        if (present === null || hasLost(caller, present)) onLoss('rights lost')
      },
      (error: unknown) => {
        // A database that is away says nothing about the caller.
        if (error instanceof AuthError) onLoss('refused')
      },
    )
  }
  const recheck = setInterval(check, recheckMs)
  const unsubscribe = authenticate.onRightsChanged?.((closed) => {
    // Who acts for all tenants looks after this one, too.
    if (caller.tenantIds !== 'all' && !caller.tenantIds.isDisjointFrom(closed)) onLoss('tenant closed')
    else check()
  })
  return () => {
    clearInterval(recheck)
    unsubscribe?.()
    expiry?.()
  }
}

function hasLost(before: Caller, now: Caller): boolean {
  if ([...before.scopes].some((scope) => !now.scopes.has(scope))) return true
  const { tenantIds } = now
  if (tenantIds === 'all') return false
  return before.tenantIds === 'all' || [...before.tenantIds].some((id) => !tenantIds.has(id))
}

/** Node's timers cannot wait longer than 24 days. */
function setTimeoutAt(at: Date, act: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (): void => {
    const left = at.getTime() - Date.now()
    timer = left > longestTimerMs ? setTimeout(wait, longestTimerMs) : setTimeout(act, Math.max(left, 0))
  }
  wait()
  return () => clearTimeout(timer)
}
