import type { Caller } from '../jobs/permissions.ts'
import { AuthError, type Authenticate } from './auth.ts'
import { LiveCaller } from './live-caller.ts'
import { placeOf, type Places } from './socket-places.ts'
import { watchCaller, type CallerLoss } from './watch-caller.ts'

/** Why a socket is closed by us; clients come back after 4403, 1012 and 1013, and give up at 4429. */
export const closeCodes = { restart: 1012, tryLater: 1013, refused: 4403, tooMany: 4429, broken: 4500 } as const

/** Who speaks on a socket, from the first token to the last. */
export interface SocketSession {
  /** Always the present caller; null: nobody has said who they are. */
  caller(): Caller | null
  /** Takes a token on: the first says who it is, later ones must be of the same principal. False: the socket was closed. */
  identify(authorization: string): Promise<boolean>
  end(): void
}

interface SessionDeps {
  readonly authenticate: Authenticate
  readonly places: Places
  readonly mostPerUser: number
  readonly address: string
  readonly close: (code: number, reason: string) => void
}

const losses: Record<CallerLoss, string> = {
  expired: 'TOKEN_EXPIRED: The token has expired. Come back with a new one.',
  refused: 'UNAUTHENTICATED: The token is good no more.',
  'rights lost': 'FORBIDDEN: The token lost a scope or a tenant. Come back with it.',
  'tenant closed': 'FORBIDDEN: A tenant of the token was closed. Nothing of it is run any more.',
}

/** A session holds a place of its address until it says who it is, then one of its user. */
export function createSocketSession({ authenticate, places, mostPerUser, address, close }: SessionDeps): SocketSession {
  let live: LiveCaller | null = null
  let unwatch: (() => void) | undefined
  let ended = false
  let place: string | null = address

  const moveTo = (next: string | null): boolean => {
    if (next !== null && !places.take(next, mostPerUser)) return false
    if (place !== null) places.giveBack(place)
    place = next
    return true
  }

  const accept = (caller: Caller, authorization: string): boolean => {
    if (ended) return false
    if (live === null) {
      if (!moveTo(placeOf(caller.principal))) {
        close(closeCodes.tooMany, `RATE_LIMITED: There are ${mostPerUser} sockets of this user already. Share one.`)
        return false
      }
    } else if (live.principal.id !== caller.principal.id || live.principal.kind !== caller.principal.kind) {
      close(closeCodes.refused, 'FORBIDDEN: The token is of another principal. Open a socket of its own for it.')
      return false
    }
    if (live === null) live = new LiveCaller(caller)
    else live.present = caller
    unwatch?.()
    unwatch = watchCaller({
      authenticate,
      authorization,
      caller,
      onLoss: (why) => close(closeCodes.refused, losses[why]),
    })
    return true
  }

  return {
    caller: () => live,
    async identify(authorization) {
      try {
        const caller = await authenticate(authorization)
        if (caller !== null) return accept(caller, authorization)
        close(closeCodes.refused, 'UNAUTHENTICATED: The authorization is empty.')
      } catch (error) {
        if (error instanceof AuthError) close(closeCodes.refused, `${error.code}: ${error.message}`)
        else close(closeCodes.tryLater, 'SERVICE_UNAVAILABLE: Who you are cannot be found out now. Try again shortly.')
      }
      return false
    },
    end() {
      ended = true
      unwatch?.()
      if (place !== null) places.giveBack(place)
      place = null
    },
  }
}
