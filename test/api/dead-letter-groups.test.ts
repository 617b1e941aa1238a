import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { decodeDeadLetterGroup, encodeDeadLetterGroup } from '../../src/jobs/dead-letter-group-id.ts'
import { groupDeadLetters } from '../../src/sql/group-dead-letters.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let other: string
beforeAll(async () => {
  api = await testApi()
  acme = await api.tenant('acme')
  other = await api.tenant('other')
})
afterAll(() => api.stop())
afterEach(() => api.sql('truncate mdm.aa_job'))

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
const die = (count: number, tenant: string, columns: Record<string, unknown> = {}) => {
  const row = {
    tenant_id: tenant,
    job_kind: 'echo',
    revision: 3,
    status: 'dlq',
    dead_at: new Date(),
    completed_at: new Date(),
    last_error: 'Error: no answer from "a"',
    error_fingerprint: 'aaaa',
    ...columns,
  }
  return api.sql(
    `insert into mdm.aa_job (${Object.keys(row).join(', ')})
     select ${Object.keys(row)
       .map((_, index) => `$${index + 2}`)
       .join(', ')} from generate_series(1, $1::int)`,
    [count, ...Object.values(row)],
  )
}
const query = `query ($filter: JobFilter, $by: [DeadLetterGrouping!]! = [KIND, ERROR], $first: Int! = 20) {
  deadLetterGroups(filter: $filter, by: $by, first: $first) {
    id kind { name } tenant { key } count firstAt lastAt history error { message name fingerprint } sample { id status } } }`
const groups = async (variables: Record<string, unknown> = {}, who = admin) => {
  const { data, errors } = await api.run(query, variables, who)
  expect(errors).toEqual([])
  return data.deadLetterGroups
}

describe('deadLetterGroups', () => {
  test('by kind and cause, the largest first, with their last 24 hours', async () => {
    await die(3, acme)
    await die(2, other, { dead_at: hoursAgo(5.5) })
    await die(1, acme, { dead_at: hoursAgo(30) })
    await die(4, acme, {
      job_kind: 'resize_image',
      error_fingerprint: 'bbbb',
      last_error: 'TypeError: x is not a function\n at y',
      dead_at: hoursAgo(23.5),
    })
    await die(1, acme, { status: 'failed' })
    const [first, second, ...rest] = await groups()
    expect(rest).toEqual([])
    expect(first).toMatchObject({
      kind: { name: 'echo' },
      tenant: null,
      count: 6,
      sample: { status: 'DLQ' },
      error: { message: 'no answer from "a"', name: 'Error', fingerprint: 'aaaa' },
    })
    expect(first.history).toEqual([...Array.from({ length: 18 }, () => 0), 2, 0, 0, 0, 0, 3])
    expect(Date.now() - Date.parse(first.firstAt)).toBeGreaterThan(29.9 * 3_600_000)
    expect(Date.now() - Date.parse(first.lastAt)).toBeLessThan(60_000)
    expect(second).toMatchObject({
      kind: { name: 'resize_image' },
      count: 4,
      error: { name: 'TypeError', message: 'x is not a function' },
    })
    expect(second.history).toEqual([4, ...Array.from({ length: 23 }, () => 0)])
    expect(await groups({ first: 1 })).toEqual([first])
  })

  test('by other things, or by nothing', async () => {
    await die(3, acme)
    await die(2, other, { error_fingerprint: 'bbbb' })
    expect(
      (await groups({ by: ['TENANT'] })).map((group: Group) => [group.tenant!.key, group.kind, group.count]),
    ).toEqual([
      ['acme', null, 3],
      ['other', null, 2],
    ])
    expect((await groups({ by: [] })).map((group: Group) => group.count)).toEqual([5])
  })

  test('narrowed down; whatever status is asked for, and never with what is not the own', async () => {
    await die(3, acme)
    await die(2, other)
    await die(1, acme, { tags: ['vip'] })
    expect(
      (await groups({ filter: { tag: ['vip'], status: ['PENDING'] } })).map((group: Group) => group.count),
    ).toEqual([1])
    expect((await groups({}, caller({ tenantIds: [acme] }))).map((group: Group) => group.count)).toEqual([4])
    expect(await groups({ filter: { tenantId: ['other'] } }, caller({ tenantIds: [acme] }))).toEqual([])
    const noPayloads = caller({ tenantIds: [acme], may: ['READ_JOBS'] })
    expect(codeOf(await api.run(query, { filter: { errorText: 'answer' } }, noPayloads))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(query, { first: 101 }))).toBe('BAD_USER_INPUT')
  })

  test('the id says which jobs they are', async () => {
    await die(2, acme, { tags: ['vip'], error_fingerprint: null, last_error: ' [stale-claim recovered]' })
    const [group] = await groups({ by: ['KIND', 'TENANT', 'ERROR'], filter: { tag: ['vip'], kind: null } })
    expect(decodeDeadLetterGroup(group.id)).toEqual({
      kind: 'echo',
      tenantId: acme,
      fingerprint: '',
      filter: { tag: ['vip'] },
    })
    const [byNothing] = await groups({ by: [] })
    expect(decodeDeadLetterGroup(byNothing.id)).toEqual({})
  })

  test('it walks the dead, not the history', async () => {
    await die(50, acme)
    await api.sql(
      "insert into mdm.aa_job (tenant_id, job_kind, revision, status) select $1, 'echo', 2, 'done' from generate_series(1, 20000)",
      [acme],
    )
    await api.sql('vacuum analyze mdm.aa_job')
    const anything = Array.from({ length: 20 }, () => null)
    for (const tenants of [null, [acme]]) {
      const client = await api.pool.connect()
      try {
        await client.query('set plan_cache_mode = force_custom_plan')
        await client.query(`prepare groups as ${groupDeadLetters.text}`)
        const given = [
          tenants === null ? 'null' : `'{${tenants.join(',')}}'`,
          ...anything.map(() => 'null'),
          'true',
          'false',
          'true',
          '20',
        ]
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute groups(${given.join(', ')})`)
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        expect(plan).toContain('aa_job_dead')
        expect(plan).not.toContain('Seq Scan on aa_job')
      } finally {
        client.release(true)
      }
    }
  })
})

describe('the id of a group', () => {
  test.each([
    {},
    { kind: 'a' },
    { fingerprint: '' },
    { kind: 'a', fingerprint: 'ff', filter: { payload: { ü: [1, null] } } },
  ])('%j comes back', (key) => {
    expect(decodeDeadLetterGroup(encodeDeadLetterGroup(key))).toEqual(key)
  })
  test.each([
    '',
    'deadletters_',
    'deadletters_e30x',
    'job_x',
    `deadletters_${Buffer.from('{"evil":1}').toString('base64url')}`,
    `deadletters_${Buffer.from('{"tenantId":"x"}').toString('base64url')}`,
  ])('%s is none', (id) => {
    expect(decodeDeadLetterGroup(id)).toBeNull()
  })
})

interface Group {
  readonly kind: { readonly name: string } | null
  readonly tenant: { readonly key: string } | null
  readonly count: number
}
