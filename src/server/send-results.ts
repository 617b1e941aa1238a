import type { Outcome } from './call.ts'
import { outcomeText } from './outcome-text.ts'
import type { Results } from './shared-results.ts'

/** Writes some results; a promise: when there is room again. */
export type WriteResults = (outcomes: readonly Outcome[]) => Promise<void> | undefined

/** One write is not larger by more than a message: who does not read has that much waiting. */
const mostBytesAtOnce = 64 * 1024

/**
 * Writes what is sound by itself, whatever is there in one go, and yields only what has errors, which are masked on their way. For the
 * protocol it is a stream that is mostly silent. The next result is fetched when there is room: a slow client is not pulled.
 */
export function sendResults(results: Results, write: WriteResults): AsyncGenerator<Outcome, undefined> {
  /** A result with errors, or a failure, that came behind others. */
  let held: Outcome | undefined
  let ended = false

  const gather = (first: Outcome): Outcome[] => {
    const outcomes = [first]
    let bytes = outcomeText(first).length
    while (bytes < mostBytesAtOnce) {
      const next = results.ready()
      if (next === undefined) break
      if (next.errors !== undefined) {
        held = next
        break
      }
      outcomes.push(next)
      bytes += outcomeText(next).length
    }
    return outcomes
  }

  /** Writes what comes as long as that needs no waiting; resolves when it does. */
  const writeAtOnce = (): Promise<void> | undefined => {
    // There before it listens: what is there already is heard at once.
    const { promise } = (idle = Promise.withResolvers<void>())
    if (results.listen(hear)) return promise
    idle = undefined
    return undefined
  }
  let idle: PromiseWithResolvers<void> | undefined

  const wake = (): void => {
    idle?.resolve()
    idle = undefined
  }

  const hear = (): void => {
    if (ended) return wake()
    try {
      const first = results.ready()
      if (first === undefined) return wake()
      if (first.errors !== undefined) {
        held = first
        return wake()
      }
      const room = write(gather(first))
      if (room !== undefined) void room.then(wake)
      else if (held !== undefined || !results.listen(hear)) wake()
    } catch (error) {
      idle?.reject(error as Error)
      idle = undefined
    }
  }

  const sent: AsyncGenerator<Outcome, undefined> = {
    async next() {
      while (!ended) {
        if (held !== undefined) {
          const value = held
          held = undefined
          return { done: false, value }
        }
        const silence = writeAtOnce()
        if (silence !== undefined) {
          await silence
          continue
        }
        const step = await results.next()
        if (step.done === true || ended) break
        if (step.value.errors !== undefined) return step
        const room = write(gather(step.value))
        if (room !== undefined) await room
      }
      return { done: true, value: undefined }
    },
    async return() {
      ended = true
      wake()
      return results.return(undefined)
    },
    async throw(error) {
      ended = true
      wake()
      return results.throw(error)
    },
    [Symbol.asyncIterator]: () => sent,
    [Symbol.asyncDispose]: async () => {
      ended = true
      wake()
      await results.return(undefined)
    },
  }
  return sent
}
