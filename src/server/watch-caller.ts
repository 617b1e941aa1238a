import type { Caller } from '../jobs/permissions.ts'
import { AuthError, type Authenticate } from './auth.ts'

/** Why a stream must end. */
export type CallerLoss = 'expired' | 'refused' | 'rights lost'

interface Watched {
  readonly authenticate: Authenticate
  readonly authorization: string
  readonly caller: Caller
  readonly onLoss: (why: CallerLoss) => void
  /** How often rights are looked at again. */
  readonly recheckMs?: number
}

const longestTimerMs = 2 ** 31 - 1

/**
 * Watches over a caller while a stream lasts: tells when the token expires and, found out every 30 s, when it was revoked
 * or lost a scope or a tenant. Answers a function that ends the watch.
 */
export function watchCaller({ authenticate, authorization, caller, onLoss, recheckMs = 30_000 }: Watched): () => void {
  const expiry = caller.expiresAt === null ? undefined : setTimeoutAt(caller.expiresAt, () => onLoss('expired'))
  const recheck = setInterval(() => {
    authenticate(authorization).then(
      (present) => {
        if (present === null || hasLost(caller, present)) onLoss('rights lost')
      },
      (error: unknown) => {
        // A database that is away says nothing about the caller.
        if (error instanceof AuthError) onLoss('refused')
      },
    )
  }, recheckMs)
  return () => {
    clearInterval(recheck)
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
