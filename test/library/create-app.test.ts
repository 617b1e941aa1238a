import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createApp, defineKind, enqueue, z } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

test('a process of its own runs the service inside itself, with its kinds, and stops it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-library-'))
  const database = await testDatabase()
  const client = new pg.Client({ connectionString: database.url })
  const ran: string[] = []
  const greet = defineKind({
    name: 'greet',
    description: 'Greets somebody.',
    payload: z.object({ name: z.string() }),
    example: { name: 'Ada' },
    run: async ({ payload }) => {
      ran.push(payload.name)
    },
  })
  const app = await createApp({
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_ENV: 'development',
      PORT: '0',
      LOG_LEVEL: 'silent',
    },
    kinds: [greet],
  })
  try {
    const { url } = await app.start()
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    await client.connect()
    const mistyped = { kind: greet, payload: { name: 'Ada' }, idempotencykey: 'once' }
    await expect(enqueue(client, mistyped)).rejects.toThrow(
      'idempotencykey is not an option of enqueue; the nearest is idempotencyKey.',
    )
    await enqueue(client, { kind: greet, payload: { name: 'Ada' } })
    await until(() => ran.length > 0, 'the own kind ran')
    expect(ran).toEqual(['Ada'])
  } finally {
    await app.stop()
    await client.end()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('settings that cannot be used are refused before anything starts', async () => {
  await expect(createApp({ settings: { PORT: 'harbour' } })).rejects.toThrow('PORT')
})
