import { createBell } from './bell.ts'
import { patiently } from './patiently.ts'
import { StreamError } from './stream-error.ts'
import { createStream, type Stream } from './stream.ts'
import type { Topic, Wakeup } from './wakeup.ts'

export interface WatchState<State> {
  /** Null: it is not there, or not any more, for this reader. */
  readonly read: () => Promise<State | null>
  /** What is the same as what was told is not told again. */
  readonly isSame: (told: State, now: State) => boolean
  /** The stream ends after this one. */
  readonly isLast: (state: State) => boolean
  /** What makes it worth another look. */
  readonly topic: Topic
  /** Between two looks, however often the topic is signalled. */
  readonly leastMs: number
  /** A look without any signal. */
  readonly pollMs: number
}

interface StateDeps {
  readonly wakeup: Pick<Wakeup, 'on'>
  readonly onLeave: () => void
}

/** Tells the present state at once, then each state that differs from the last one told; a slow reader gets the newest. */
export function watchState<State>(
  { read, isSame, isLast, topic, leastMs, pollMs }: WatchState<State>,
  { wakeup, onLeave }: StateDeps,
): Stream<State> {
  const bell = createBell()
  const end = createBell()
  const unsubscribe = wakeup.on(topic, () => bell.ring())
  let told: State | undefined
  let readAt = -Infinity
  let left = false

  const look = async (): Promise<State | null> => {
    readAt = performance.now()
    return patiently(read, () => left)
  }

  return createStream<State>({
    async pull() {
      if (told === undefined) {
        const first = await look()
        if (first === null && !left) throw new StreamError('NOT_FOUND', 'There is no such thing among your tenants.')
        return left ? undefined : (told = first!)
      }
      while (!left && !isLast(told)) {
        await bell.wait(pollMs)
        const tooSoonMs = readAt + leastMs - performance.now()
        if (!left && tooSoonMs > 0) await end.wait(tooSoonMs)
        if (left) return undefined
        const now = await look()
        if (now === null || left) return undefined
        if (!isSame(told, now)) return (told = now)
      }
      return undefined
    },
    release() {
      left = true
      unsubscribe()
      onLeave()
      bell.ring()
      end.ring()
    },
  })
}
