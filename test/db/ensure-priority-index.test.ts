import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensurePriorityIndex } from '../../src/db/ensure-priority-index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const isValid = `select indisvalid as valid from pg_index where indexrelid = to_regclass('mdm.aa_job_by_priority')`

test('makes the index once, and makes a build that was cut short anew', async () => {
  await ensurePriorityIndex(database.url, 'all')
  expect(await database.sql(isValid)).toEqual([{ valid: true }])
  // What a cancelled concurrent build leaves behind.
  await database.sql(`update pg_index set indisvalid = false where indexrelid = to_regclass('mdm.aa_job_by_priority')`)
  await ensurePriorityIndex(database.url, 'all')
  expect(await database.sql(isValid)).toEqual([{ valid: true }])
})
