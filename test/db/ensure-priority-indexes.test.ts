import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const valid = `select indexrelid::regclass::text as index from pg_index where indexrelid::regclass::text like 'mdm.aa\\_job%priority' and indisvalid order by 1`
const both = [{ index: 'mdm.aa_job_by_kind_priority' }, { index: 'mdm.aa_job_by_priority' }]

test('makes both indexes once, and makes a build that was cut short anew', async () => {
  await ensurePriorityIndexes(database.url)
  expect(await database.sql(valid)).toEqual(both)
  // What a cancelled concurrent build leaves behind.
  await database.sql(`update pg_index set indisvalid = false where indexrelid = to_regclass('mdm.aa_job_by_priority')`)
  await ensurePriorityIndexes(database.url)
  expect(await database.sql(valid)).toEqual(both)
})
