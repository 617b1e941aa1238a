import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Outcome } from './call.ts'
import { outcomeText } from './outcome-text.ts'

interface EventStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly results: AsyncIterable<Outcome>
}

const keepAliveMs = 12_000
const eventStart = Buffer.from('event: next\ndata: ')
const eventEnd = Buffer.from('\n\n')
const gone = Symbol('gone')

/**
 * Sends results as server-sent events, the next one fetched when the last has left. Ends with `complete`, or when the client
 * goes or somebody destroys the response: then without, so that clients come back. Resolves when the source is let go.
 */
export async function sendEvents(response: ServerResponse, { status, headers, results }: EventStream): Promise<void> {
  const source = results[Symbol.asyncIterator]()
  const untilGone = createUntilGone(response)
  response.writeHead(status, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Proxies that buffer would hold events back.
    'x-accel-buffering': 'no',
  })
  response.write(':\n\n')
  // Who does not read gets none on top of what waits for it.
  const keepAlive = setInterval(() => void (response.writableNeedDrain || response.write(':\n\n')), keepAliveMs)
  try {
    for (;;) {
      const step = await untilGone(source.next())
      if (step === gone) return
      if (step.done === true) break
      const hasRoom = response.write(Buffer.concat([eventStart, outcomeText(step.value), eventEnd]))
      if (!hasRoom) await untilGone(once(response, 'drain'))
    }
    response.end('event: complete\ndata:\n\n')
  } finally {
    clearInterval(keepAlive)
    await source.return?.()
  }
}

/**
 * Waits for something as long as the client is there. Each wait has a promise of its own: one for all,
 * raced with each event, would hold a reaction for each until the stream ends.
 */
function createUntilGone(response: ServerResponse): <Value>(work: Promise<Value>) => Promise<Value | typeof gone> {
  let leave = (): void => undefined
  response.once('close', () => leave())
  return (work) => {
    const left = Promise.withResolvers<typeof gone>()
    leave = () => left.resolve(gone)
    if (response.destroyed) leave()
    return Promise.race([work, left.promise])
  }
}
