import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createApp, defineKind, z } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { poolerMissing, startPooler } from '../support/pooler.ts'
import { until } from '../support/until.ts'

describe('P08: behind a transaction pooler', () => {
  if (poolerMissing !== null) return leaveOut(poolerMissing)

  test('the API reads and acts through it, workers and wake-ups go direct, and jobs run', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-pooler-data-'))
    const database = await testDatabase()
    const pooler = await startPooler(database.url)
    const greet = defineKind({
      name: 'greet',
      description: 'Greets somebody.',
      payload: z.object({ name: z.string() }),
      example: { name: 'Ada' },
      run: async ({ payload }) => ({ result: { greeting: `Hello ${payload.name}` } }),
    })
    const settings = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: database.url,
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_ENV: 'development',
      PORT: '0',
      LOG_LEVEL: 'silent',
    }
    const app = await createApp({ settings, kinds: [greet] })
    try {
      const { url, tokenPath } = await app.start()
      const authorization = `Bearer ${(await readFile(tokenPath!, 'utf8')).trim()}`
      const ask = async (query: string) => {
        const response = await fetch(`${url}/graphql`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify({ query }),
        })
        return (await response.json()) as {
          data: Record<string, { id: string; job: { id: string }; status: string; createdAt: string }>
        }
      }
      expect((await fetch(`${url}/ready`)).status).toBe(200)
      const enqueue = (name: string) =>
        ask(
          `mutation { enqueueJob(input: { job: { custom: { kind: "greet", payload: { name: "${name}" } } } }) { job { id } } }`,
        )
      // More at once than the pooler has sessions: each statement may meet another one.
      const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => enqueue(`Ada ${i}`)))
      const ids = answers.map(({ data }) => data['enqueueJob']!.job.id)
      const read = (id: string) =>
        ask(`{ job(id: "${id}") { status result createdAt tenant { key } events { nodes { type } } } }`)
      await until(
        async () => (await Promise.all(ids.map(read))).every(({ data }) => data['job']!.status === 'DONE'),
        'all are done',
      )
      const { data } = await read(ids[7]!)
      expect(data['job']).toMatchObject({
        result: { greeting: 'Hello Ada 7' },
        tenant: { key: 'default' },
        events: { nodes: [{ type: 'ENQUEUED' }, { type: 'CLAIMED' }, { type: 'SUCCEEDED' }] },
      })
      const age = Date.now() - new Date(data['job']!.createdAt).getTime()
      expect(age).toBeGreaterThanOrEqual(0)
      expect(age).toBeLessThan(60_000)
    } finally {
      await app.stop()
      await pooler.stop()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
