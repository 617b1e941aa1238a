import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createListener } from '../../src/db/listen.ts'
import { createWakeup, type DueKinds, type Wakeup } from '../../src/events/wakeup.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { registerTestKinds } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
  await database.drop()
})

async function started(db: Queryable = database.pool): Promise<Wakeup> {
  const listener = createListener({ url: database.url, onLost: () => undefined, onRestored: () => undefined })
  const wakeup = createWakeup({ instanceId: randomUUID(), db, listener })
  await wakeup.start()
  ends.push(
    () => listener.stop(),
    () => wakeup.stop(),
  )
  return wakeup
}

/** What goes over the wire. */
async function heard(): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  ends.push(() => client.end())
  const payloads: string[] = []
  client.on('notification', ({ payload }) => payloads.push(payload!))
  await client.query('listen mdm_wakeup')
  return payloads
}

test('where no other instance lives nothing is sent', async () => {
  const payloads = await heard()
  const wakeup = await started()
  await until(() => payloads.length === 1, 'its start is told')
  wakeup.others(0)
  let told = 0
  wakeup.on('work', () => (told += 1))
  wakeup.signal('work')
  wakeup.tellProgress({ jobId: randomUUID(), claimedMs: 0, report: 1, at: 0, text: '1' })
  expect(told).toBe(1)
  await wakeup.stop()
  await database.sql(`select pg_notify('mdm_wakeup', 'last')`)
  await until(() => payloads.includes('last'), 'the last one is heard')
  expect(payloads.slice(1)).toEqual(['last'])
})

test('who starts is heard by those who thought that nobody listens, and hears them from then on', async () => {
  const first = await started()
  first.others(0)
  const counted = new Promise((resolve) => first.on('control', resolve))
  const second = await started()
  await counted
  let told = 0
  second.on('work', () => (told += 1))
  first.signal('work')
  await until(() => told > 0, 'the second one is told')
  expect(told).toBe(1)
})

test('an enqueue by SQL wakes workers and subscribers, and has nobody read limits and pauses anew', async () => {
  const wakeup = await started()
  const told: string[] = []
  for (const topic of ['work', 'journal', 'control', 'rights'] as const) wakeup.on(topic, () => told.push(topic))
  await registerTestKinds(database.pool, ['echo'])
  await database.sql(`select from mdm.enqueue_job('echo', '{}')`)
  await database.sql(`select pg_notify('mdm_wakeup', 'sql rights')`)
  await until(() => told.includes('rights'), 'the last one is heard')
  expect(told).toEqual(['work', 'journal', 'rights'])
})

test('of due jobs the kinds are told, as long as there is no more to it and they are few', async () => {
  const [first, second] = [await started(), await started()]
  const told: (string[] | null)[] = []
  second.on('work', (kinds) => told.push(kinds === null ? null : [...kinds]))
  const hears = async (what: string, signals: readonly DueKinds[]): Promise<unknown> => {
    const before = told.length
    for (const kinds of signals) first.signal('work', kinds)
    await until(() => told.length > before, `the second one hears ${what}`)
    return told.at(-1)
  }
  const kinds = (...names: string[]): DueKinds => new Set(names)
  expect(await hears('of one', [kinds('mail')])).toEqual(['mail'])
  expect(await hears('of all that came together', [kinds('mail'), kinds('scan', 'mail')])).toEqual(['mail', 'scan'])
  expect(await hears('of anything', [kinds('mail'), null, kinds('scan')])).toBeNull()
  const many = Array.from({ length: 51 }, (_, nth) => `kind_${nth}`.padEnd(63, '_'))
  expect(await hears('of very many', [kinds(...many)])).toBeNull()
  expect(await hears('of many', [kinds(...many.slice(1))])).toEqual(many.slice(1))
})

test('they are sent one after the other, however slow', async () => {
  const gates: (() => void)[] = []
  const slow: Queryable = {
    async query(config) {
      await new Promise<void>((resolve) => gates.push(resolve))
      return database.pool.query(config)
    },
  }
  const payloads = await heard()
  const wakeup = await started(slow)
  await until(() => gates.length === 1, 'its start is on its way')
  wakeup.signal('work')
  wakeup.signal('journal')
  // Longer than the pause between two: by the time the answer has come they would have left.
  await until(async () => (await database.sql(`select pg_sleep(0.05)`)).length === 1, 'some time has passed')
  expect(gates).toHaveLength(1)
  gates[0]!()
  await until(() => gates.length === 2, 'what came meanwhile goes together')
  gates[1]!()
  await until(() => payloads.length === 2, 'both are heard')
  expect(payloads[1]!.split(' ').slice(1)).toEqual(['work', 'journal'])
})
