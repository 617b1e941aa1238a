import { availableParallelism } from 'node:os'
import type { RunnableKind } from './execution.ts'

/** How many more runs of kinds with a cap per instance this process may have, over all its pools. */
export interface KindRooms {
  has(kind: string): boolean
  /** Kinds that have a cap and room under it; `most` runs may be claimed of each. */
  open(kinds: readonly string[]): { readonly kinds: readonly string[]; readonly most: number }
  /** Claims of such kinds go one at a time: each has to know what the one before it took. */
  alone<Result>(claim: () => Promise<Result>): Promise<Result>
  taken(kind: string): void
  /** The run has ended, or went back. */
  freed(kind: string): void
  /** Tells of room where there was none. */
  onRoom(listener: () => void): void
}

export function createKindRooms(kinds: ReadonlyMap<string, RunnableKind>): KindRooms {
  const rooms = new Map<string, number>()
  for (const [name, { kind }] of kinds) {
    const { perInstance } = kind
    if (perInstance !== undefined)
      rooms.set(name, perInstance === 'coresButOne' ? Math.max(1, availableParallelism() - 1) : perInstance)
  }
  const listeners: (() => void)[] = []
  let before: Promise<unknown> = Promise.resolve()

  const change = (kind: string, by: 1 | -1): number | undefined => {
    const room = rooms.get(kind)
    if (room !== undefined) rooms.set(kind, room + by)
    return room
  }

  return {
    has: (kind) => rooms.has(kind),
    open(served) {
      const open = served.filter((kind) => (rooms.get(kind) ?? 0) > 0)
      return { kinds: open, most: open.reduce((least, kind) => Math.min(least, rooms.get(kind)!), Infinity) }
    },
    alone(claim) {
      const turn = before.then(claim)
      before = turn.catch(() => undefined)
      return turn
    },
    taken: (kind) => void change(kind, -1),
    freed(kind) {
      if (change(kind, 1) === 0) for (const tell of listeners) tell()
    },
    onRoom: (listener) => void listeners.push(listener),
  }
}
