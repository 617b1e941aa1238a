import type { Principal } from '../jobs/permissions.ts'

/** How many sockets there may be; services are not limited by principal. */
export interface SocketLimits {
  readonly perUser: number
  /** Of one address, that have not said yet who they are. */
  readonly perAddress: number
  readonly inAll: number
  readonly subscriptionsPerSocket: number
  /** Operations of any kind under way on one socket. */
  readonly operationsPerSocket: number
}

export const socketLimits: SocketLimits = {
  perUser: 20,
  perAddress: 100,
  inAll: 10_000,
  subscriptionsPerSocket: 50,
  operationsPerSocket: 1_000,
}

/** Keeps count of who holds how many places. */
export interface Places {
  /** Takes a place; false: there is none left. */
  take(holder: string, most: number): boolean
  giveBack(holder: string): void
}

export function createPlaces(): Places {
  const held = new Map<string, number>()
  return {
    take(holder, most) {
      const count = held.get(holder) ?? 0
      if (count >= most) return false
      held.set(holder, count + 1)
      return true
    },
    giveBack(holder) {
      const count = held.get(holder) ?? 0
      if (count > 1) held.set(holder, count - 1)
      else held.delete(holder)
    },
  }
}

/** Whose place a socket of this principal takes; null: it needs none. */
export function placeOf({ kind, id }: Principal): string | null {
  return kind === 'USER' ? `user ${id}` : null
}
