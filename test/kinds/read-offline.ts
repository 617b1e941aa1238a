import { connect } from 'node:net'
import { once } from 'node:events'
import { runReader } from '../../src/workers/handlers/documents/run-reader.ts'
import type { ReadingOrder } from '../../src/workers/handlers/documents/reader-protocol.ts'

/** Reads what its argument orders, and says what the network is like meanwhile. */
const order = JSON.parse(process.argv[2]!) as ReadingOrder
const network = await once(connect(443, '192.0.2.1'), 'connect').then(
  () => 'there',
  (error: NodeJS.ErrnoException) => error.code,
)
const reading = await runReader(order, { signal: AbortSignal.timeout(50_000), onPage: () => undefined })
process.stdout.write(JSON.stringify({ network, text: reading.pages[0]!.text }))
