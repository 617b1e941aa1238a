import type { Outcome } from './call.ts'
import { outcomeText } from './outcome-text.ts'
import type { ResultHearer, Results, ResultWriter } from './shared-results.ts'

/** One write is not larger by more than a message: who does not read has that much waiting. */
const mostBytesAtOnce = 64 * 1024

/**
 * Writes what is sound by itself, whatever is there in one go, and yields only what has errors, which are masked on their way. For the
 * protocol it is a stream that is mostly silent. The next result is fetched when there is room: a slow client is not pulled.
 */
export function sendResults(results: Results, writer: ResultWriter): AsyncGenerator<Outcome, undefined> {
  /** A result with errors that came behind others. */
  let held: Outcome | undefined
  let ended = false
  /** It listens. */
  let silence: PromiseWithResolvers<void> | undefined

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

  const wake = (): void => {
    silence?.resolve()
    silence = undefined
  }

  const hearer: ResultHearer = {
    writer,
    // One of thousands that hear the same: no promise as long as it needs none.
    hear(outcome, more) {
      if (ended) return false
      if (outcome.errors !== undefined) {
        held = outcome
        wake()
        return false
      }
      try {
        const room = more ? writer.write(gather(outcome)) : writer.writeOne(outcome)
        if (room === undefined && held === undefined) return true
        if (room === undefined) wake()
        else void room.then(wake)
      } catch (error) {
        silence?.reject(error as Error)
        silence = undefined
      }
      return false
    },
    wake,
  }

  const sent: AsyncGenerator<Outcome, undefined> = {
    async next() {
      while (!ended) {
        if (held !== undefined) {
          const value = held
          held = undefined
          return { done: false, value }
        }
        // There before it listens: the source may have it wake at once.
        const { promise } = (silence = Promise.withResolvers<void>())
        if (results.listen(hearer)) {
          await promise
          continue
        }
        silence = undefined
        const step = await results.next()
        if (step.done === true || ended) break
        if (step.value.errors !== undefined) return step
        const room = writer.write(gather(step.value))
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
