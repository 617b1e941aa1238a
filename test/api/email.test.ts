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

const without = (...left: (typeof scopes)[number][]) => scopes.filter((scope) => !left.includes(scope))

/** A line of the log as a run leaves it, and the job it belongs to. */
async function logged(
  tenant: string,
  to: string,
  status: string,
  error: string | null = null,
): Promise<{ jobId: string; id: string }> {
  const [job] = await api.sql<{ id: string }>('select job_id as id from mdm.enqueue_job($1, $2, $3)', [
    'email_send',
    JSON.stringify({ to: { address: to }, content: { subject: 's', text: 't' } }),
    tenant,
  ])
  const [row] = await api.sql<{ id: string }>(
    `insert into mdm.aa_email_log (tenant_id, job_id, status, message_id, provider, provider_message_id, to_address, template_key, last_error)
     select tenant_id, id, $2, '<job.' || id || '@x>', 'smtp', 'p' || id, $3, 'welcome', $4 from mdm.aa_job where id = $1 returning id`,
    [job!.id, status, to, error],
  )
  return { jobId: job!.id, id: row!.id }
}

describe('the email log', () => {
  const query = `query Q($filter: EmailLogFilter, $first: Int! = 20, $after: String) { emailLogs(filter: $filter, first: $first, after: $after) {
    edges { cursor } nodes { id recipient status provider providerMessageId template error createdAt job { id } tenant { key } } pageInfo { hasNextPage endCursor } } }`
  let first: { jobId: string; id: string }
  let second: { jobId: string; id: string }

  beforeAll(async () => {
    first = await logged('default', 'Ada@Example.org', 'sent')
    second = await logged(
      'default',
      'bob@example.org',
      'rejected',
      'The provider answered: 550 5.1.1 <bob@example.org> unknown',
    )
    await logged('other', 'eve@example.org', 'bounced')
  })

  test('is read newest first, in pages', async () => {
    const { data, errors } = await api.run(query, { first: 2 })
    expect(errors).toEqual([])
    expect(data.emailLogs.nodes.map((node: { recipient: string }) => node.recipient)).toEqual([
      'eve@example.org',
      'bob@example.org',
    ])
    expect(data.emailLogs.pageInfo.hasNextPage).toBe(true)
    const next = await api.run(query, { first: 2, after: data.emailLogs.pageInfo.endCursor })
    expect(next.data.emailLogs.nodes).toMatchObject([
      {
        id: `email_${first.id}`,
        recipient: 'Ada@Example.org',
        status: 'SENT',
        provider: 'smtp',
        template: 'welcome',
        error: null,
        job: { id: `job_${first.jobId}` },
        tenant: { key: 'default' },
      },
    ])
  })

  test.each([
    [{ status: ['BOUNCED', 'COMPLAINED'] }, ['eve@example.org']],
    [{ tenantId: ['tenant_default'] }, ['bob@example.org', 'Ada@Example.org']],
    [{ recipient: 'ada@example.ORG' }, ['Ada@Example.org']],
    [{ recipient: 'ada' }, []],
    [{ createdAt: { to: '2000-01-01T00:00:00Z' } }, []],
    [{ tenantId: ['nobody'] }, []],
  ])('is narrowed down by %j', async (filter, recipients) => {
    const { data } = await api.run(query, { filter })
    expect(data.emailLogs.nodes.map((node: { recipient: string }) => node.recipient)).toEqual(recipients)
  })

  test('shows recipients masked without READ_PAYLOADS, also in errors', async () => {
    const { data } = await api.run(
      query,
      { filter: { tenantId: ['default'] } },
      caller({ tenantIds: 'all', may: without('READ_PAYLOADS') }),
    )
    expect(data.emailLogs.nodes).toMatchObject([
      { recipient: 'b***@example.org', error: 'The provider answered: 550 5.1.1 <b***@example.org> unknown' },
      { recipient: 'A***@Example.org' },
    ])
  })

  test("is that of the caller's tenants, for who may read the audit", async () => {
    const { data } = await api.run(query, {}, caller({ tenantIds: [otherId] }))
    expect(data.emailLogs.nodes).toMatchObject([{ recipient: 'eve@example.org' }])
    expect(codeOf(await api.run(query, {}, caller({ tenantIds: 'all', may: without('READ_AUDIT') })))).toBe('FORBIDDEN')
  })

  test('is told of a job, and each line can be fetched again', async () => {
    const { data } = await api.run(
      `query Q($job: ID!, $node: ID!) { job(id: $job) { emailLogs { nodes { id status } } } node(id: $node) { ... on EmailLog { recipient } } }`,
      { job: second.jobId, node: `email_${second.id}` },
    )
    expect(data.job.emailLogs.nodes).toEqual([{ id: `email_${second.id}`, status: 'REJECTED' }])
    expect(data.node).toEqual({ recipient: 'bob@example.org' })
  })

  test.each([{ recipient: 'a\u0000' }, { providerMessageId: '\ud800' }])('refuses %j', async (filter) => {
    expect(codeOf(await api.run(query, { filter }))).toBe('BAD_USER_INPUT')
  })
})

describe('suppressions', () => {
  const add = `mutation M($input: AddSuppressionInput!) { addSuppression(input: $input) {
    suppression { id address reason category note createdBy { id kind } tenant { key } } errors { code message path } } }`
  const remove = `mutation M($input: RemoveSuppressionInput!) { removeSuppression(input: $input) { suppression { address } errors { code path } } }`
  const list = `query Q($search: String, $tenantId: ID) { suppressions(search: $search, tenantId: $tenantId) { nodes { id address tenant { key } } } }`
  const audit = async () => {
    const rows = await api.sql<{ action: string; actor: string }>(
      `select action, actor_principal_id as actor from mdm.aa_audit_log where action::text like 'suppression%' order by id`,
    )
    return rows.map(({ action, actor }) => `${action} ${actor}`)
  }

  test('are added, listed, fetched again, lifted, and audited', async () => {
    const { data } = await api.run(add, {
      input: { address: 'Gone@Example.org', tenantId: 'tenant_default', note: 'asked by phone' },
    })
    expect(data.addSuppression).toMatchObject({
      errors: [],
      suppression: {
        address: 'gone@example.org',
        reason: 'MANUAL',
        category: null,
        note: 'asked by phone',
        createdBy: { id: 'ada', kind: 'USER' },
        tenant: { key: 'default' },
      },
    })
    const { id } = data.addSuppression.suppression
    expect((await api.run(list, { search: 'GONE@' })).data.suppressions.nodes).toMatchObject([{ id }])
    expect((await api.run(list, { tenantId: 'other' })).data.suppressions.nodes).toEqual([])
    expect(
      (await api.run(`query Q($id: ID!) { node(id: $id) { ... on Suppression { address } } }`, { id })).data.node
        .address,
    ).toBe('gone@example.org')
    const again = await api.run(add, {
      input: { address: 'gone@example.org', tenantId: 'default', reason: 'COMPLAINT' },
    })
    expect(again.data.addSuppression.suppression).toMatchObject({ id, reason: 'COMPLAINT' })
    expect((await api.run(remove, { input: { id, reason: 'asked back' } })).data.removeSuppression).toEqual({
      suppression: { address: 'gone@example.org' },
      errors: [],
    })
    expect((await api.run(remove, { input: { id } })).data.removeSuppression.errors).toMatchObject([
      { code: 'NOT_FOUND' },
    ])
    expect(await audit()).toEqual([
      'suppression_add user:ada',
      'suppression_add user:ada',
      'suppression_remove user:ada',
    ])
  })

  test.each([
    { address: 'nobody' },
    { address: 'a@x.de, b@y.de' },
    { address: 'a@x.de', note: 'x'.repeat(501) },
    { address: 'a@x.de', note: 'a\u0000' },
    { address: 'a@x.de', tenantId: 'nobody' },
  ])('refuse %j', async (input) => {
    const { data } = await api.run(add, { input: { tenantId: 'default', ...input } })
    expect(data.addSuppression.suppression).toBeNull()
    expect(data.addSuppression.errors).toHaveLength(1)
  })

  test('for all tenants need OPERATE_PLATFORM, and are seen by who may act for all', async () => {
    const tenantAdmin = caller({ tenantIds: [defaultId], may: without('OPERATE_PLATFORM') })
    expect(codeOf(await api.run(add, { input: { address: 'all@example.org' } }, tenantAdmin))).toBe('FORBIDDEN')
    const { data } = await api.run(add, { input: { address: 'all@example.org' } })
    const { id, tenant } = data.addSuppression.suppression
    expect(tenant).toBeNull()
    expect((await api.run(list, {}, tenantAdmin)).data.suppressions.nodes).toEqual([])
    expect((await api.run(remove, { input: { id } }, tenantAdmin)).data.removeSuppression.errors).toMatchObject([
      { code: 'NOT_FOUND' },
    ])
    expect((await api.run(list)).data.suppressions.nodes).toEqual([{ id, address: 'all@example.org', tenant: null }])
    const noOperator = caller({ tenantIds: 'all', may: without('OPERATE_PLATFORM') })
    expect(codeOf(await api.run(remove, { input: { id } }, noOperator))).toBe('FORBIDDEN')
  })
})

describe('templates', () => {
  const set = `mutation M($input: SetEmailTemplateInput!) { setEmailTemplate(input: $input) {
    template { id key locale version requiredVariables tenant { key } } errors { code message path } } }`
  const list = `query Q($tenantId: ID) { emailTemplates(tenantId: $tenantId) { key locale version tenant { key } } }`

  test('are there from the start in two languages', async () => {
    expect((await api.run(list)).data.emailTemplates).toEqual([
      { key: 'webhook_disabled', locale: 'de', version: 1, tenant: null },
      { key: 'webhook_disabled', locale: 'en', version: 1, tenant: null },
      { key: 'welcome', locale: 'de', version: 1, tenant: null },
      { key: 'welcome', locale: 'en', version: 1, tenant: null },
    ])
  })

  test('are stored as versions, of which the newest is listed, with the variables that they need', async () => {
    const input = {
      tenantId: 'default',
      key: 'reset',
      subject: 'Reset, {{ name }}',
      text: '{% if hint %}{{ hint }}{% endif %}{{ link.url }} {{ sender | default: "us" }}',
    }
    const { data } = await api.run(set, { input })
    expect(data.setEmailTemplate).toMatchObject({
      errors: [],
      template: {
        key: 'reset',
        locale: 'en',
        version: 1,
        requiredVariables: ['link', 'name'],
        tenant: { key: 'default' },
      },
    })
    const again = await api.run(set, { input: { ...input, html: '<p>{{ name }}</p>' } })
    expect(again.data.setEmailTemplate.template.version).toBe(2)
    const own = (await api.run(list, { tenantId: 'default' })).data.emailTemplates
    expect(own.filter(({ key }: { key: string }) => key === 'reset')).toEqual([
      { key: 'reset', locale: 'en', version: 2, tenant: { key: 'default' } },
    ])
    expect(
      (await api.run(list, { tenantId: 'other' })).data.emailTemplates.map(({ key }: { key: string }) => key),
    ).toEqual(['webhook_disabled', 'webhook_disabled', 'welcome', 'welcome'])
    const { id } = again.data.setEmailTemplate.template
    expect(
      (await api.run(`query Q($id: ID!) { node(id: $id) { ... on EmailTemplate { version } } }`, { id })).data.node,
    ).toEqual({ version: 2 })
    expect(
      await api.sql(`select count(*)::int as rows from mdm.aa_audit_log where action = 'metadata_change'`),
    ).toEqual([{ rows: 2 }])
  })

  test.each([
    [{ subject: '{{ name' }, 'subject'],
    [{ text: '{% if %}' }, 'text'],
    [{ text: '{{ name | shout }}' }, 'text'],
    [{ html: '{% include "/etc/passwd" %}' }, 'html'],
    [{ key: 'A B' }, 'key'],
    [{ locale: 'english!' }, 'locale'],
    [{ subject: ' ' }, 'subject'],
    [{ text: 'a\u0000' }, 'text'],
    [{ tenantId: 'nobody' }, 'tenantId'],
  ])('that cannot be used are refused: %j', async (more, field) => {
    const { data } = await api.run(set, {
      input: { tenantId: 'default', key: 'bad', subject: 's', text: 't', ...more },
    })
    expect(data.setEmailTemplate).toMatchObject({ template: null, errors: [{ path: [field] }] })
  })

  test('for all tenants need OPERATE_PLATFORM', async () => {
    const tenantAdmin = caller({ tenantIds: [defaultId], may: without('OPERATE_PLATFORM') })
    expect(codeOf(await api.run(set, { input: { key: 'a', subject: 's', text: 't' } }, tenantAdmin))).toBe('FORBIDDEN')
    expect(
      (await api.run(set, { input: { key: 'a', subject: 's', text: 't' } }, admin)).data.setEmailTemplate.template
        .tenant,
    ).toBeNull()
  })
})
