import { setTimeout as wait } from 'node:timers/promises'
import { withClient } from '../measure.ts'

/** Waits until the query answers no row; looks every two milliseconds, which costs nobody much. */
export async function untilNone(url: string, query: string): Promise<void> {
  await withClient(url, async (client) => {
    while ((await client.query(query)).rowCount !== 0) await wait(2)
  })
}
