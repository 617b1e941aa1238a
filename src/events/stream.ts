/**
 * A pull-based iterator written by hand: an awaiting async generator cannot be left while it waits, and leaked at every disconnect.
 * `return` releases at once, whatever `next` is waiting for.
 */
export interface Stream<T> extends AsyncIterableIterator<T, undefined> {
  next(): Promise<IteratorResult<T, undefined>>
  return(): Promise<IteratorResult<T, undefined>>
  /** The next item where it is there without waiting for anything, for who writes several at once. Never while `next` waits. */
  ready(): T | undefined
  /** Hands on what comes from now on, the moment it is there: what thousands are told at once costs far less than by as many promises. False: ask `next`. */
  listen(hearer: Hearer<T>): boolean
  [Symbol.asyncIterator](): Stream<T>
}

/** Who is told instead of asking; neither call may throw. Not asked for anything meanwhile: who has to ask `next` is woken first. */
export interface Hearer<T> {
  /** Takes the next item; `more`: others are there, ask `ready`. False: it was taken, but the listening has ended. */
  hear(item: T, more: boolean): boolean
  /** The listening has ended: `next` says what comes. */
  wake(): void
  /** Hearers of one crowd make the same of an item: the first of them does so for all. Left out: each for itself. */
  readonly crowd?: Crowd<T> | undefined
}

export interface Crowd<T> {
  /** Two of the same name are the same. */
  readonly name: string
  /** As `hear` of each of these. Calls `ended` for whom the listening has ended; `isTaken`: with this item, else before it. */
  hear(item: T, hearers: Iterable<Hearer<T>>, ended: (hearer: Hearer<T>, isTaken: boolean) => void): void
}

interface Source<T> {
  /** The next item when there is one; undefined ends the stream. Called again only after it has answered. */
  pull(): Promise<T | undefined>
  /** An item that is there already. Not called while a `pull` is under way. */
  poll?(): T | undefined
  /** As a stream's `listen`; not called while a `pull` is under way. `release` wakes who listens. */
  listen?(hearer: Hearer<T>): boolean
  /** Called once, when the stream ends for whatever reason: lets go of everything, timers too. */
  release(): void
}

const done = { done: true, value: undefined } as const

export function createStream<T>({ pull, poll, listen, release }: Source<T>): Stream<T> {
  let ended = false
  let queue: Promise<unknown> = Promise.resolve()
  const waiting = new Set<(result: IteratorResult<T, undefined>) => void>()

  const end = (): void => {
    if (ended) return
    ended = true
    release()
    for (const answer of waiting) answer(done)
    waiting.clear()
  }

  const stream: Stream<T> = {
    next() {
      if (ended) return Promise.resolve(done)
      return new Promise((resolve, reject) => {
        waiting.add(resolve)
        queue = queue.then(async () => {
          if (ended) return
          try {
            const value = await pull()
            if (value === undefined) end()
            else if (waiting.delete(resolve)) resolve({ done: false, value })
          } catch (error) {
            if (waiting.delete(resolve)) reject(error as Error)
            end()
          }
        })
      })
    },
    ready: () => (ended || waiting.size > 0 ? undefined : poll?.()),
    listen: (hearer) => !ended && waiting.size === 0 && listen?.(hearer) === true,
    return() {
      end()
      return Promise.resolve(done)
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}
