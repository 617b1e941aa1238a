import { afterEach, beforeEach, expect, test } from 'vitest'
import { inTransaction } from '../../src/db/transaction.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await database.sql('create table written (i int)')
})
afterEach(() => database.drop())

test('what a failed statement has undone is not told as committed, though its error was caught', async () => {
  const work = inTransaction(database.pool, async (tx) => {
    await tx.query('insert into written values (1)')
    await tx.query('select 1 / 0').catch(() => undefined)
    return 'done'
  })
  await expect(work).rejects.toThrow('The transaction was rolled back: one of its statements had failed.')
  expect(await database.sql('select from written')).toEqual([])
  expect(await inTransaction(database.pool, async (tx) => (await tx.query('select 1 as one')).rows)).toEqual([
    { one: 1 },
  ])
})
