import type { Dispatcher } from './dispatcher.ts'
import type { KindRooms } from './kind-rooms.ts'

interface RoomDispatcherDeps {
  /** Whoever receives what is claimed tells them of it. */
  readonly rooms: KindRooms
  /** Each with a rotation of its own. */
  readonly free: Dispatcher
  readonly roomed: Dispatcher
}

/** Heavy kinds are looked at so often at most while none is due: the other kinds must not pay a statement at each wake-up for them. */
const lookEveryMs = 20
/** Without a wake-up or new room nothing changes for them; looked at all the same, in case one was lost. */
const quietForMs = 1_000

/** Claims kinds with a cap per instance apart, no more than there is room for. */
export function createRoomDispatcher({ rooms, free, roomed }: RoomDispatcherDeps): Dispatcher {
  let nextLookAt = 0
  let woken = true
  let roomedFirst = false
  let roomedAll = false
  let filled = false
  /** Whether the last claim asked for them: what held up an earlier one says nothing. */
  let roomedAsked = false

  const claimRoomed: Dispatcher['claim'] = async (limit, shape, passedOver) => {
    const now = performance.now()
    roomedAll = true
    const isQuiet = !woken && !(roomedAsked && roomed.retryInMs() !== null)
    roomedAsked = false
    if (limit <= 0 || now < nextLookAt || (isQuiet && now < nextLookAt + quietForMs - lookEveryMs)) return []
    return rooms.alone(async () => {
      const { kinds, most } = rooms.open(shape.kinds)
      if (kinds.length === 0) return []
      // What brings nothing is asked again without those who were passed over.
      if (passedOver.length === 0) woken = false
      roomedAsked = true
      const claiming = roomed.claim(Math.min(limit, most), { ...shape, kinds }, passedOver)
      const runs = await claiming.catch((error: unknown) => {
        woken = true
        throw error
      })
      roomedAll = runs.length === 0 || roomed.tookAll()
      if (runs.length > 0 || roomed.retryInMs() !== null) woken = true
      else if (passedOver.length === 0) nextLookAt = performance.now() + lookEveryMs
      return runs
    })
  }

  const claimFree: Dispatcher['claim'] = (limit, shape, passedOver) =>
    free.claim(limit, { ...shape, kinds: shape.kinds.filter((kind) => !rooms.has(kind)) }, passedOver)

  return {
    async claim(limit, shape, passedOver) {
      // Under a backlog each goes first every other time, so that neither waits for the other's. Else no job waits for a look at the heavy kinds.
      roomedFirst = filled && !roomedFirst
      const [one, other] = roomedFirst ? [claimRoomed, claimFree] : [claimFree, claimRoomed]
      const first = await one(limit, shape, passedOver)
      try {
        const runs = [...first, ...(await other(limit - first.length, shape, passedOver))]
        filled = runs.length >= limit
        return runs
      } catch (error) {
        // What is claimed already is run; the next claim meets the fault again.
        if (first.length === 0) throw error
        return first
      }
    },
    tookAll: () => free.tookAll() && roomedAll,
    wasCut: () => free.wasCut() || (roomedAsked && roomed.wasCut()),
    wake(dueKinds) {
      woken ||= dueKinds?.values().some(rooms.has) ?? true
      free.wake(dueKinds)
      roomed.wake(dueKinds)
    },
    isHeldUp: () => free.isHeldUp() || (roomedAsked && roomed.isHeldUp()),
    retryInMs() {
      const early = woken ? Math.max(nextLookAt - performance.now(), 0) : 0
      const times = [free.retryInMs(), roomedAsked ? roomed.retryInMs() : null, early > 0 ? Math.ceil(early) : null]
      const earliest = Math.min(...times.map((ms) => ms ?? Infinity))
      return earliest === Infinity ? null : earliest
    },
  }
}
