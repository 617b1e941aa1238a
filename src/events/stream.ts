/**
 * A pull-based iterator written by hand: an awaiting async generator cannot be left while it waits, and leaked at every disconnect.
 * `return` releases at once, whatever `next` is waiting for.
 */
export interface Stream<T> extends AsyncIterableIterator<T, undefined> {
  next(): Promise<IteratorResult<T, undefined>>
  return(): Promise<IteratorResult<T, undefined>>
  [Symbol.asyncIterator](): Stream<T>
}

interface Source<T> {
  /** The next item when there is one; undefined ends the stream. Called again only after it has answered. */
  pull(): Promise<T | undefined>
  /** Called once, when the stream ends for whatever reason: lets go of everything, timers too. */
  release(): void
}

const done = { done: true, value: undefined } as const

export function createStream<T>({ pull, release }: Source<T>): Stream<T> {
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
    return() {
      end()
      return Promise.resolve(done)
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}
