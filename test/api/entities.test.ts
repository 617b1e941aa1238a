import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let defaultId: string
let otherId: string

beforeAll(async () => {
  api = await testApi()
  const [row] = await api.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
  defaultId = row!.id
  otherId = await api.tenant('other')
})
afterAll(() => api?.stop())

const set = `mutation M($input: EntityTypeInput!) { setEntityType(input: $input) {
  entityType { id key name language searchVersion externalSourceTarget ginIndexStatus tenant { key }
    attributes { id key dataType required searchable sortable searchWeight indexStatus indexName indexError { code message badRows sampleEntityIds } } }
  jobs { id kind { name } status payload } errors { message code path } } }`

const setType = async (input: Record<string, unknown>, who = admin) => {
  const { data, errors } = await api.run(set, { input: { name: 'A name', ...input } }, who)
  expect(errors).toEqual([])
  return data.setEntityType
}

/** As the job leaves it; the jobs themselves are tested elsewhere. */
const activate = (typeId: string) =>
  api.sql(
    `update mdm.ddm_entity_type_attribute set index_status = case when searchable or sortable then 'active' else 'none' end where entity_type_id = $1`,
    [typeId.replace('entitytype_', '')],
  )

describe('a type', () => {
  test('is created with its attributes, and its jobs are enqueued on behalf of the caller', async () => {
    const { entityType, jobs, errors } = await setType({
      key: 'created',
      language: 'german',
      externalSourceTarget: true,
      attributes: [
        { key: 'name', dataType: 'TEXT', searchable: true, sortable: true, searchWeight: 'A' },
        { key: 'note', dataType: 'TEXT' },
        { key: 'price', dataType: 'NUMBER', sortable: true },
      ],
    })
    expect(errors).toEqual([])
    expect(entityType).toMatchObject({
      key: 'created',
      language: 'german',
      externalSourceTarget: true,
      ginIndexStatus: 'PENDING',
      tenant: { key: 'default' },
      attributes: [
        { key: 'name', dataType: 'TEXT', indexStatus: 'PENDING', searchWeight: 'A' },
        { key: 'note', indexStatus: 'NONE', indexError: null },
        { key: 'price', dataType: 'NUMBER', indexStatus: 'PENDING' },
      ],
    })
    expect(jobs.map(({ kind }: { kind: { name: string } }) => kind.name).toSorted()).toEqual([
      'gin_backfill',
      'index_sync',
      'index_sync',
      'reindex',
    ])
    const actors = await api.sql(
      `select distinct enqueued_by as by from mdm.aa_job where payload ->> 'entity_type_id' = $1`,
      [entityType.id.replace('entitytype_', '')],
    )
    expect(actors).toEqual([{ by: 'user:ada' }])
    const [line] = await api.sql(
      `select action, actor_principal_id as actor, payload ->> 'key' as key from mdm.aa_audit_log where action = 'metadata_change' order by id desc limit 1`,
    )
    expect(line).toEqual({ action: 'metadata_change', actor: 'user:ada', key: 'created' })
  })

  test('keeps attributes that a change leaves out; the same again enqueues nothing', async () => {
    const name = { key: 'name', dataType: 'TEXT', searchable: true }
    await setType({ key: 'kept', attributes: [name, { key: 'price', dataType: 'NUMBER', sortable: true }] })
    const again = await setType({ key: 'kept', attributes: [name] })
    expect(again.jobs).toEqual([])
    expect(again.entityType.attributes.map(({ key }: { key: string }) => key)).toEqual(['name', 'price'])
    const weighed = await setType({ key: 'kept', attributes: [{ ...name, searchWeight: 'B' }] })
    expect(weighed.jobs).toMatchObject([{ kind: { name: 'reindex' } }])
    expect(weighed.entityType.searchVersion).toBe(again.entityType.searchVersion + 1)
    const spoken = await setType({ key: 'kept', language: 'english' })
    expect(spoken.jobs).toMatchObject([{ kind: { name: 'reindex' } }])
    const target = await setType({ key: 'kept', language: 'english', externalSourceTarget: true })
    expect(target.jobs).toMatchObject([{ kind: { name: 'gin_backfill' } }])
  })

  test.each([
    [{ key: '' }, ['key']],
    [{ key: 'x'.repeat(201) }, ['key']],
    [{ key: 'a\nb' }, ['key']],
    [{ key: ' a' }, ['key']],
    [{ key: 'nul\0' }, ['key']],
    [{ key: 'ok', name: '' }, ['name']],
    [{ key: 'ok', language: 'klingon' }, ['language']],
    [{ key: 'ok', tenantId: 'nobody' }, ['tenantId']],
    [
      { key: 'ok', attributes: [{ key: `x'); drop table mdm.ddm_entity;--`, dataType: 'TEXT' }] },
      ['attributes', '0', 'key'],
    ],
    [{ key: 'ok', attributes: [{ key: '1a', dataType: 'TEXT' }] }, ['attributes', '0', 'key']],
    [{ key: 'ok', attributes: [{ key: 'ä', dataType: 'TEXT' }] }, ['attributes', '0', 'key']],
    [
      { key: 'ok', attributes: [{ key: 'a', dataType: 'TEXT', searchWeight: 'E' }] },
      ['attributes', '0', 'searchWeight'],
    ],
    [
      {
        key: 'ok',
        attributes: [
          { key: 'a', dataType: 'TEXT' },
          { key: 'a', dataType: 'NUMBER' },
        ],
      },
      ['attributes', '1', 'key'],
    ],
  ])('$# is refused with its place', async (input, path) => {
    const { entityType, jobs, errors } = await setType(input)
    expect({ entityType, jobs, errors }).toMatchObject({ entityType: null, jobs: [], errors: [{ path }] })
    expect(await api.sql(`select from mdm.ddm_entity_type where type_key = 'ok'`)).toEqual([])
  })

  test('KINDS 8.6: a hostile key of a type is only a name', async () => {
    const key = `x'); drop table mdm.ddm_entity;-- "\\ %L $1 🙂`
    const { entityType } = await setType({ key, externalSourceTarget: true })
    expect(entityType).toMatchObject({ key, ginIndexStatus: 'PENDING' })
    const { data } = await api.run('query Q($id: ID!) { entities(typeId: $id) { nodes { id } } }', { id: key })
    expect(data).toEqual({ entities: { nodes: [] } })
  })

  test('of another tenant is neither seen nor changed', async () => {
    const theirs = await setType({ key: 'secret', tenantId: 'other', attributes: [{ key: 'a', dataType: 'TEXT' }] })
    const mine = caller({ tenantIds: [defaultId] })
    const seen = await api.run('{ entityTypes { key } }', {}, mine)
    expect(seen.data.entityTypes.map(({ key }: { key: string }) => key)).not.toContain('secret')
    expect((await api.run('{ entityTypes(tenantId: "other") { key } }', {}, mine)).data).toEqual({ entityTypes: [] })
    for (const id of [theirs.entityType.id, theirs.entityType.attributes[0].id])
      expect((await api.run('query Q($id: ID!) { node(id: $id) { id } }', { id }, mine)).data).toEqual({ node: null })
    const refused = await setType({ key: 'secret', tenantId: 'other' }, mine)
    expect(refused.errors).toMatchObject([{ code: 'NOT_FOUND', path: ['tenantId'] }])
    const reindexed = await api.run(
      'mutation M($id: ID!) { reindexEntityType(id: $id) { jobs { id } errors { code path } } }',
      { id: theirs.entityType.id },
      mine,
    )
    expect(reindexed.data.reindexEntityType).toEqual({ jobs: [], errors: [{ code: 'NOT_FOUND', path: ['id'] }] })
    // The same key is another type with them.
    const own = await setType({ key: 'secret' }, mine)
    expect(own.entityType.id).not.toBe(theirs.entityType.id)
    const { errors } = await api.run(
      'query Q($id: ID!) { entities(typeId: $id) { nodes { id } } }',
      { id: theirs.entityType.id },
      mine,
    )
    expect(errors[0]!.message).toContain('no such entity type among your tenants')
  })

  test('is found again by its node id, as are its attributes', async () => {
    const { entityType } = await setType({ key: 'noded', attributes: [{ key: 'a', dataType: 'DATE' }] })
    const query = `query Q($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on EntityType { key } ... on EntityAttribute { key dataType } } }`
    const { data } = await api.run(query, { ids: [entityType.id, entityType.attributes[0].id] })
    expect(data.nodes).toEqual([
      { __typename: 'EntityType', id: entityType.id, key: 'noded' },
      { __typename: 'EntityAttribute', id: entityType.attributes[0].id, key: 'a', dataType: 'DATE' },
    ])
  })

  test('ten clicks on reindex are one job, each with its reason kept', async () => {
    const { entityType } = await setType({ key: 'clicked' })
    const click = () =>
      api.run(
        `mutation M($id: ID!) { reindexEntityType(id: $id, reason: "New dictionary") { entityType { searchVersion } jobs { id payload } errors { message } } }`,
        { id: entityType.id },
      )
    const answers = await Promise.all(Array.from({ length: 10 }, click))
    const jobs = answers.map(({ data }) => data.reindexEntityType.jobs[0])
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(1)
    expect(jobs[0].payload).toMatchObject({ reason: 'New dictionary', target_version: entityType.searchVersion + 1 })
    expect(answers[0]!.data.reindexEntityType.entityType.searchVersion).toBe(entityType.searchVersion + 1)
  })

  test('the typed inputs of its kinds are stored in snake case', async () => {
    const { entityType } = await setType({ key: 'typed', attributes: [{ key: 'a', dataType: 'TEXT' }] })
    const enqueue = `mutation M($job: JobInput!) { enqueueJob(input: { job: $job }) { job { kind { name } payload } errors { message } } }`
    const jobOf = async (job: unknown) => (await api.run(enqueue, { job })).data.enqueueJob
    const attributeId = entityType.attributes[0].id as string
    expect(await jobOf({ indexSync: { attributeId } })).toEqual({
      job: { kind: { name: 'index_sync' }, payload: { attribute_id: attributeId.replace('attribute_', '') } },
      errors: [],
    })
    expect((await jobOf({ reindex: { typeKey: 'typed' } })).job).toEqual({
      kind: { name: 'reindex' },
      payload: { type_key: 'typed' },
    })
    expect((await jobOf({ ginBackfill: { typeKey: 'typed' } })).job).toMatchObject({ kind: { name: 'gin_backfill' } })
    expect((await jobOf({ indexSync: { attributeId: 'nonsense' } })).errors).toHaveLength(1)
  })
})

describe('entities', () => {
  const query = `query Q($type: ID!, $filter: EntityFilter, $orderBy: EntityOrder, $first: Int! = 20, $after: String) {
    entities(typeId: $type, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
      totalCount(atMost: 5) { count precision } edges { cursor node { id } }
      nodes { id externalKey attributes version type { key } } pageInfo { hasNextPage endCursor } } }`
  let type: string

  const find = async (variables: Record<string, unknown>, who = admin) => {
    const { data, errors } = await api.run(query, { type, ...variables }, who)
    expect(errors).toEqual([])
    return data.entities.nodes.map(({ attributes }: { attributes: { name: string } }) => attributes.name)
  }
  const refusal = async (variables: Record<string, unknown>) => {
    const answer = await api.run(query, { type, ...variables })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    return answer.errors[0]!.message
  }
  const by = (...attributes: Record<string, unknown>[]) => ({ filter: { attributes } })

  beforeAll(async () => {
    const created = await setType({
      key: 'product',
      language: 'german',
      externalSourceTarget: true,
      attributes: [
        { key: 'name', dataType: 'TEXT', searchable: true, sortable: true },
        { key: 'note', dataType: 'TEXT', searchable: true },
        { key: 'price', dataType: 'NUMBER', searchable: true, sortable: true },
        { key: 'since', dataType: 'DATE', searchable: true },
        { key: 'seen', dataType: 'TIMESTAMP', searchable: true, sortable: true },
        { key: 'sold', dataType: 'BOOLEAN', searchable: true },
        { key: 'plain', dataType: 'TEXT' },
      ],
    })
    type = created.entityType.id
    await activate(type)
    await api.sql(`update mdm.ddm_entity_type set gin_index_status = 'active' where id = $1`, [
      type.replace('entitytype_', ''),
    ])
    const rows = [
      {
        name: 'Apfel',
        note: '100%_rein',
        price: 2.5,
        since: '2024-02-29',
        seen: '2024-01-01T10:00:00Z',
        sold: true,
        src: { sap: '1' },
      },
      {
        name: 'Birne',
        note: 'Müller Straße',
        price: 10,
        since: '2025-01-01',
        seen: '2024-01-01T10:30:00+02:00',
        sold: false,
      },
      { name: 'Citrone', note: 'x', price: '3', seen: 'never', src: { sap: '2' } },
      { name: 'Dattel', price: 'n/a' },
      { name: 'Erdbeere', price: 1e21 },
    ]
    for (const row of rows)
      await api.sql(
        `insert into mdm.ddm_entity (tenant_id, entity_type_id, external_key, attributes) select tenant_id, id, $2, $3 from mdm.ddm_entity_type where id = $1`,
        [type.replace('entitytype_', ''), row.name, row],
      )
    await setType({ key: 'foreign', tenantId: 'other' })
    await api.sql(
      `insert into mdm.ddm_entity (tenant_id, entity_type_id, attributes) select tenant_id, id, '{"name": "theirs"}' from mdm.ddm_entity_type where type_key = 'foreign'`,
    )
  })

  test.each([
    [by({ key: 'name', eq: 'Apfel' }), ['Apfel']],
    [by({ key: 'note', eq: 'x' }), ['Citrone']],
    [by({ key: 'note', contains: 'MÜLLER' }), ['Birne']],
    [by({ key: 'note', contains: '%_' }), ['Apfel']],
    [by({ key: 'note', contains: '0_' }), []],
    [by({ key: 'name', gte: 'B', lt: 'D' }), ['Birne', 'Citrone']],
    [by({ key: 'price', eq: 2.5 }), ['Apfel']],
    [by({ key: 'price', eq: '3' }), ['Citrone']],
    [by({ key: 'price', gte: 3, lt: 1e21 }), ['Birne', 'Citrone']],
    [by({ key: 'since', gte: '2024-02-29', lt: '2025-01-01' }), ['Apfel']],
    [by({ key: 'seen', lt: '2024-01-01T10:00Z' }), ['Birne']],
    [by({ key: 'sold', eq: false }), ['Birne']],
    [by({ key: 'sold', eq: true }, { key: 'price', lt: 3 }), ['Apfel']],
    [{ filter: { search: 'muller strasse' } }, ['Birne']],
    [{ filter: { search: 'apfel or "müller straße"' } }, ['Apfel', 'Birne']],
    [{ filter: { search: '"unclosed & | ! <-> :*' } }, []],
    [{ filter: { matches: { src: { sap: '2' } } } }, ['Citrone']],
    [{ filter: { matches: { sold: true } } }, ['Apfel']],
  ])('%j finds %j', async (variables, names) => {
    expect((await find(variables)).toSorted()).toEqual(names)
  })

  test.each([
    ['price', 'ASC', ['Apfel', 'Citrone', 'Birne', 'Erdbeere', 'Dattel']],
    ['price', 'DESC', ['Erdbeere', 'Birne', 'Citrone', 'Apfel', 'Dattel']],
    ['name', 'DESC', ['Erdbeere', 'Dattel', 'Citrone', 'Birne', 'Apfel']],
    ['seen', 'ASC', ['Birne', 'Apfel', 'Citrone', 'Dattel', 'Erdbeere']],
  ])(
    'sorted by %s %s, what has no value comes last, and pages miss and double nothing',
    async (key, direction, names) => {
      const orderBy = { key, direction }
      expect(await find({ orderBy })).toEqual(names)
      for (const first of [1, 2, 3]) {
        const paged: string[] = []
        for (let after: string | null = null, more = true; more;) {
          const { data } = await api.run(query, { type, orderBy, first, after })
          paged.push(...data.entities.nodes.map((node: { attributes: { name: string } }) => node.attributes.name))
          ;({ hasNextPage: more, endCursor: after } = data.entities.pageInfo)
        }
        expect(paged).toEqual(names)
      }
    },
  )

  test('are counted no further than asked for', async () => {
    const { data } = await api.run(query, { type })
    expect(data.entities.totalCount).toEqual({ count: 5, precision: 'EXACT' })
    const few = await api.run(
      `query Q($type: ID!) { entities(typeId: $type) { totalCount(atMost: 2) { count precision } } }`,
      { type },
    )
    expect(few.data.entities.totalCount).toEqual({ count: 2, precision: 'AT_LEAST' })
  })

  test.each([
    [by({ key: 'plain', eq: 'x' }), 'plain is not searchable'],
    [by({ key: 'nothing', eq: 'x' }), 'no such attribute: nothing'],
    [by({ key: 'price' }), 'says nothing'],
    [by({ key: 'price', eq: 'n/a' }), 'eq of price is no number'],
    [by({ key: 'since', gte: '2024-02-30' }), 'gte of since is no date'],
    [by({ key: 'seen', lt: 'yesterday' }), 'lt of seen is no timestamp'],
    [by({ key: 'sold', eq: 1 }), 'eq of sold must be a boolean value'],
    [by({ key: 'name', eq: { a: 1 } }), 'eq of name must be a text value'],
    [by({ key: 'price', contains: '1' }), 'contains is for TEXT'],
    [by({ key: 'note', gte: 'a' }), 'need it to be sortable'],
    [by({ key: 'note', contains: 'a\0b' }), 'contains'],
    [by(...Array.from({ length: 21 }, () => ({ key: 'price', eq: 1 }))), 'At most 20'],
    [{ orderBy: { key: 'since' } }, 'since is not sortable'],
    [{ orderBy: { key: `price'); drop table mdm.ddm_entity;--` } }, 'no such attribute'],
    [{ filter: { search: 'x'.repeat(1_001) } }, 'at most 1,000 characters'],
    [{ filter: { matches: [1] } }, 'must be a JSON object'],
    [{ after: 'nonsense' }, 'cursor'],
    [{ type: 'entitytype_00000000-0000-0000-0000-000000000000' }, 'no such entity type'],
  ])('$# is refused and says why', async (variables, message) => {
    expect(await refusal(variables)).toContain(message)
  })

  test('a cursor of another order, or one that was made by hand, is refused', async () => {
    const { data } = await api.run(query, { type, orderBy: { key: 'price' }, first: 1 })
    const after = data.entities.pageInfo.endCursor
    expect(await refusal({ orderBy: { key: 'price', direction: 'DESC' }, after })).toContain('cursor')
    const [name, , id] = JSON.parse(Buffer.from(after, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify([name, 'n/a', id])).toString('base64url')
    expect(await refusal({ orderBy: { key: 'price' }, after: forged })).toContain('cursor')
  })

  test('an index that is not there yet is named with its status', async () => {
    const created = await setType({
      key: 'waiting',
      externalSourceTarget: true,
      attributes: [{ key: 'n', dataType: 'NUMBER', searchable: true, sortable: true }],
    })
    const other = { type: created.entityType.id }
    expect(await refusal({ ...other, ...by({ key: 'n', eq: 1 }) })).toContain('The index of n is PENDING')
    expect(await refusal({ ...other, orderBy: { key: 'n' } })).toContain('The index of n is PENDING')
    expect(await refusal({ ...other, filter: { matches: {} } })).toContain('is PENDING')
  })

  test('of another tenant are not found, nor without READ_PAYLOADS', async () => {
    const [row] = await api.sql<{ id: string }>(`select id from mdm.ddm_entity where attributes ->> 'name' = 'theirs'`)
    const node = `query Q($id: ID!) { node(id: $id) { id ... on Entity { attributes type { key } } } }`
    const id = `entity_${row!.id}`
    expect((await api.run(node, { id })).data.node).toMatchObject({ id, attributes: { name: 'theirs' } })
    expect((await api.run(node, { id }, caller({ tenantIds: [defaultId] }))).data).toEqual({ node: null })
    const blind = caller({ tenantIds: [otherId], may: scopes.filter((scope) => scope !== 'READ_PAYLOADS') })
    expect(codeOf(await api.run(node, { id }, blind))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(query, { type }, blind))).toBe('FORBIDDEN')
  })

  test('numbers that JavaScript cannot hold come back as they stand', async () => {
    const { entityType } = await setType({ key: 'exact' })
    await api.sql(
      `insert into mdm.ddm_entity (tenant_id, entity_type_id, attributes) select tenant_id, id, '{"n": 12345678901234567890.123}' from mdm.ddm_entity_type where id = $1`,
      [entityType.id.replace('entitytype_', '')],
    )
    const { data } = await api.run(query, { type: entityType.id })
    expect(JSON.stringify(data.entities.nodes[0].attributes)).toBe('{"n":12345678901234567890.123}')
  })
})
