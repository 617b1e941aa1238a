import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Outcome } from './call.ts'

interface EventStream {
  readonly status: number
  readonly results: AsyncIterable<Outcome>
}

const keepAliveMs = 12_000

/**
 * Sends results as server-sent events, the next one fetched when the last has left. Ends with `complete`, or when the client
 * goes or somebody destroys the response: then without, so that clients come back. Resolves when the source is let go.
 */
export async function sendEvents(response: ServerResponse, { status, results }: EventStream): Promise<void> {
  const source = results[Symbol.asyncIterator]()
  const gone = new Promise<'gone'>((resolve) => response.once('close', () => resolve('gone')))
  response.writeHead(status, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Proxies that buffer would hold events back.
    'x-accel-buffering': 'no',
  })
  response.write(':\n\n')
  const keepAlive = setInterval(() => response.write(':\n\n'), keepAliveMs)
  try {
    for (;;) {
      const step = response.destroyed ? 'gone' : await Promise.race([source.next(), gone])
      if (step === 'gone') return
      if (step.done === true) break
      const hasRoom = response.write(`event: next\ndata: ${JSON.stringify(step.value)}\n\n`)
      if (!hasRoom && !response.destroyed) await Promise.race([once(response, 'drain'), gone])
    }
    response.end('event: complete\ndata:\n\n')
  } finally {
    clearInterval(keepAlive)
    await source.return?.()
  }
}
