import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importSteps } from '../../src/workers/handlers/import/import-steps.ts'
import { until } from '../support/until.ts'
import { importFixture, type ImportFixture } from './import-support.ts'

let fixture: ImportFixture
beforeAll(async () => {
  fixture = await importFixture({ instances: 2 })
})
afterAll(() => fixture.stop())

const attributes = { name: 'text', price: 'number' } as const
const codes = async (id: string) => (await fixture.rows(id)).map(({ status, errors }) => errors?.[0]?.code ?? status)

describe('modes', () => {
  test('insert makes new entities; keys that are taken are bad rows', async () => {
    const typeId = await fixture.type(attributes)
    await fixture.ended(await fixture.upload(typeId, 'externalKey,name\na,Ada\n'))
    const id = await fixture.upload(typeId, 'externalKey,name\na,Other\nb,Bob\n,No key\nb,Bob again\n')
    expect(await fixture.ended(id)).toMatchObject({ status: 'done', committed: 2, invalid: 2 })
    expect(await codes(id)).toEqual(['key_exists', 'committed', 'committed', 'duplicate_key'])
    expect((await fixture.entities(typeId)).map(({ key, attributes: { name } }) => [key, name])).toEqual([
      ['a', 'Ada'],
      ['b', 'Bob'],
      [null, 'No key'],
    ])
  })

  test('upsert makes and changes; an empty cell empties, a column that is not there stays', async () => {
    const typeId = await fixture.type({ ...attributes, city: 'text' })
    await fixture.ended(await fixture.upload(typeId, 'externalKey,name,price,city\na,Ada,1,London\nb,Bob,2,Paris\n'))
    const id = await fixture.upload(typeId, 'externalKey,name,price\na,Ada L.,\nb,Bob,2\nc,Cid,3\n,Nobody,4\n', {
      options: { mode: 'upsert' },
    })
    expect(await fixture.ended(id)).toMatchObject({ status: 'done', committed: 3, invalid: 1 })
    expect(await codes(id)).toEqual(['committed', 'committed', 'committed', 'key_missing'])
    expect(await fixture.entities(typeId)).toEqual([
      { key: 'a', version: 2, attributes: { name: 'Ada L.', city: 'London' } },
      // Nothing changed: nothing was written.
      { key: 'b', version: 1, attributes: { name: 'Bob', price: 2, city: 'Paris' } },
      { key: 'c', version: 1, attributes: { name: 'Cid', price: 3 } },
    ])
  })

  test('update changes what is there; required attributes need no column, but no empty cell either', async () => {
    const typeId = await fixture.type({ name: { type: 'text', required: true }, price: 'number' })
    await fixture.ended(await fixture.upload(typeId, 'externalKey,name,price\na,Ada,1\n'))
    const first = await fixture.upload(typeId, 'externalKey,price\na,5\nz,6\n', { options: { mode: 'update' } })
    expect(await fixture.ended(first)).toMatchObject({ status: 'done', committed: 1, invalid: 1 })
    expect(await codes(first)).toEqual(['committed', 'key_not_found'])
    const second = await fixture.upload(typeId, 'externalKey,name\na,\n', { options: { mode: 'update' } })
    expect(await fixture.ended(second)).toMatchObject({ status: 'done', committed: 0, invalid: 1 })
    expect(await codes(second)).toEqual(['required'])
    expect(await fixture.entities(typeId)).toEqual([{ key: 'a', version: 2, attributes: { name: 'Ada', price: 5 } }])
    const keyless = await fixture.ended(await fixture.upload(typeId, 'name\nx\n', { options: { mode: 'update' } }))
    expect(keyless).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('needs a column "externalKey"') },
    })
  })

  test('a key that somebody else takes between check and commit is a bad row, and with upsert a change', async () => {
    for (const mode of ['insert', 'upsert'] as const) {
      const typeId = await fixture.type(attributes)
      const id = await fixture.upload(typeId, 'externalKey,name\na,Ada\nb,Bob\n', { options: { mode, dryRun: true } })
      await fixture.ended(id)
      await fixture.sql(
        `insert into mdm.ddm_entity (tenant_id, entity_type_id, external_key, attributes) values ($1, $2, 'a', '{"price": 1}')`,
        [fixture.tenantId, typeId],
      )
      await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id, phase: 'commit' } })
      await until(async () => (await fixture.state(id)).status === 'done', 'it is committed')
      expect(await codes(id)).toEqual(mode === 'insert' ? ['key_exists', 'committed'] : ['committed', 'committed'])
      expect((await fixture.entities(typeId))[0]!.attributes).toEqual(
        mode === 'insert' ? { price: 1 } : { price: 1, name: 'Ada' },
      )
    }
  })

  test('two imports of the same keys at once do not stand in each other’s way', async () => {
    const typeId = await fixture.type(attributes)
    const keys = Array.from({ length: 3_000 }, (_, i) => i)
    const file = (order: readonly number[], name: string) =>
      `externalKey,name\n${order.map((key) => `k${key},${name}`).join('\n')}\n`
    const ids = await Promise.all([
      fixture.upload(typeId, file(keys, 'up'), { options: { mode: 'upsert' } }),
      fixture.upload(typeId, file(keys.toReversed(), 'down'), { options: { mode: 'upsert' } }),
    ])
    for (const id of ids)
      expect(await fixture.ended(id, 60_000)).toMatchObject({ status: 'done', committed: 3_000, invalid: 0 })
    expect(await fixture.entities(typeId)).toHaveLength(3_000)
  }, 90_000)

  test.each([
    ['batch', ['entities.imported', 'import.completed']],
    ['entity', ['entity.imported', 'entity.imported', 'import.completed']],
    ['none', ['import.completed']],
  ])('events: %s', async (events, expected) => {
    const typeId = await fixture.type(attributes)
    const tenant = await fixture.tenant(`events-${events}`)
    await fixture.sql(
      `insert into mdm.aa_webhook_subscription (tenant_id, created_by, url, event_types, secrets_enc, secrets_until)
       values ($1, 'user:ada', 'https://example.org/', '{*}', array['\\x00'::bytea], array[now()])`,
      [tenant],
    )
    const own = await fixture.type(attributes, { tenantId: tenant })
    const id = await fixture.upload(own, 'externalKey,name\na,Ada\nb,Bob\n', { tenant, options: { events } })
    expect(await fixture.ended(id)).toMatchObject({ status: 'done' })
    const told = await fixture.sql<{ type: string; payload: Record<string, unknown> }>(
      `select event_type as type, payload from mdm.aa_outbox_event where tenant_id = $1 order by id`,
      [tenant],
    )
    expect(told.map(({ type }) => type)).toEqual(expected)
    expect(told.at(-1)!.payload).toMatchObject({
      import_id: id,
      status: 'done',
      total_rows: 2,
      committed_rows: 2,
      invalid_rows: 0,
    })
    expect(typeId).not.toBe(own)
  })
})

describe('the import follows its job', () => {
  test('a file that is gone from the store is for good: the job is dead, the import says why', async () => {
    const typeId = await fixture.type(attributes)
    const id = await fixture.upload(typeId, 'name\nAda\n', { enqueue: false })
    await fixture.store.remove(`imports/${id}/file`)
    const job = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id } })
    expect(await fixture.workers.reached(job, 'dlq')).toMatchObject({ attempts: 1 })
    expect(await fixture.state(id)).toMatchObject({
      status: 'failed',
      error: { code: 'job_failed', message: expect.stringContaining('not in the object store any more') },
    })
    // With the file back, a replay goes on where it was.
    await fixture.store.put(`imports/${id}/file`, Readable.from([Buffer.from('name\nAda\n')]), { maxBytes: 100 })
    await fixture.sql(`update mdm.aa_job set status = 'pending', attempts = 0 where id = $1`, [job])
    expect(await fixture.ended(id)).toMatchObject({ status: 'done', committed: 1, error: null })
  })

  test('bytes that are not those that were uploaded never become entities', async () => {
    const typeId = await fixture.type(attributes)
    const id = await fixture.upload(typeId, 'name\nAda\n', { enqueue: false })
    await fixture.sql(`update mdm.aa_import_job set content_sha256 = repeat('0', 64) where id = $1`, [id])
    const job = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id } })
    await fixture.workers.reached(job, 'dlq')
    expect((await fixture.state(id)).error!.message).toContain('not those that were uploaded')
    expect(await fixture.entities(typeId)).toEqual([])
  })

  test('a job of another tenant, and one for an import that there is not, are dead at once', async () => {
    const id = await fixture.upload(await fixture.type(attributes), 'name\nAda\n', { enqueue: false })
    const tenant = await fixture.tenant('stranger')
    const foreign = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id }, tenant })
    const nowhere = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: randomUUID() } })
    for (const job of [foreign, nowhere])
      expect((await fixture.workers.reached(job, 'dlq')).lastError).toContain('There is no import')
    expect(await fixture.state(id)).toMatchObject({ status: 'uploaded' })
  })

  test('stopped, cancelled and discarded by plain SQL', async () => {
    for (const [move, status] of [
      [`update mdm.aa_job set status = 'failed' where id = $1`, 'cancelled'],
      [`delete from mdm.aa_job where id = $1`, 'cancelled'],
      [`update mdm.aa_job set status = 'dlq' where id = $1`, 'failed'],
    ] as const) {
      const id = await fixture.upload(await fixture.type(attributes), 'name\nAda\n', { enqueue: false })
      const [row] = await fixture.sql<{ id: string }>(
        `select job_id as id from mdm.enqueue_job('bulk_import', $1, available_at => now() + interval '1 hour')`,
        [{ import_job_id: id }],
      )
      await fixture.sql(`update mdm.aa_import_job set job_id = $2 where id = $1`, [id, row!.id])
      await fixture.sql(move, [row!.id])
      expect(await fixture.state(id)).toMatchObject({ status, error: { message: expect.stringMatching(/./) } })
    }
  })

  test('a file in another instance’s store waits for that instance', async () => {
    const id = await fixture.upload(await fixture.type(attributes), 'name\nAda\n', { enqueue: false })
    await fixture.sql(`update mdm.aa_import_job set object_store = 'folder:elsewhere' where id = $1`, [id])
    const job = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id } })
    await until(
      async () =>
        (await fixture.sql(`select 1 from mdm.aa_audit_log where job_id = $1 and action = 'job_released'`, [job]))
          .length > 0,
      'the job was given back',
    )
    expect(await fixture.workers.job(job)).toMatchObject({
      status: expect.stringMatching(/pending|running/),
      lastError: null,
    })
    await fixture.sql(`update mdm.aa_import_job set object_store = $2 where id = $1`, [id, fixture.store.id])
    expect(await fixture.ended(id)).toMatchObject({ status: 'done', committed: 1 })
  })
})

describe('cleanup', () => {
  const context = {
    signal: new AbortController().signal,
    progress: async () => {},
    log: { info: () => {}, warn: () => {} },
  }
  const tidy = async () => {
    const results: Record<string, unknown> = {}
    for (const { run } of importSteps({ pool: fixture.pool, store: fixture.store }))
      Object.assign(results, await run(context))
    return results
  }

  test('rows and files of imports that ended thirty days ago go; younger ones and their counts stay', async () => {
    await tidy()
    const typeId = await fixture.type(attributes)
    const [old, young, dry] = (await Promise.all([
      fixture.upload(typeId, 'name\nAda\nBob\n'),
      fixture.upload(typeId, 'name\nEve\n'),
      fixture.upload(typeId, 'name\nJim\n', { options: { dryRun: true } }),
    ])) as [string, string, string]
    for (const id of [old, young, dry]) await fixture.ended(id)
    await fixture.sql(
      `update mdm.aa_import_job set created_at = now() - interval '31 days', finished_at = case when status = 'done' then now() - interval '31 days' end where id = any ($1)`,
      [[old, dry]],
    )
    const key = (await fixture.state(old)).resultKey!
    expect(await tidy()).toEqual({ purgedImports: 2, lostImportFiles: 0 })
    expect(await fixture.rows(old)).toEqual([])
    expect(await fixture.state(old)).toMatchObject({ status: 'done', committed: 2, resultKey: null })
    expect(await fixture.state(dry)).toMatchObject({ status: 'cancelled' })
    for (const gone of [key, `imports/${old}/file`, `imports/${dry}/file`])
      expect(await fixture.store.stat(gone)).toBeNull()
    expect(await fixture.rows(young)).toHaveLength(1)
    expect(await fixture.store.stat(`imports/${young}/file`)).not.toBeNull()
    // The entities are nobody's leftovers.
    expect(await fixture.entities(typeId)).toHaveLength(3)
    expect(await tidy()).toEqual({ purgedImports: 0, lostImportFiles: 0 })
  })

  test('a file whose process died before it became an import is found', async () => {
    const id = randomUUID()
    const key = `imports/${id}/file`
    await fixture.store.put(key, Readable.from([Buffer.from('x')]), { maxBytes: 10 })
    await fixture.sql(`insert into mdm.aa_import_upload (id, object_store, object_key) values ($1, $2, $3)`, [
      id,
      fixture.store.id,
      key,
    ])
    expect(await tidy()).toMatchObject({ lostImportFiles: 0 })
    await fixture.sql(`update mdm.aa_import_upload set created_at = now() - interval '25 hours'`)
    expect(await tidy()).toMatchObject({ lostImportFiles: 1 })
    expect(await fixture.store.stat(key)).toBeNull()
    expect(await fixture.sql('select 1 from mdm.aa_import_upload')).toEqual([])
  })
})
