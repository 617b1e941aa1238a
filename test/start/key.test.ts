import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { emptyDatabase } from '../support/database.ts'
import { runService, startService } from '../support/service.ts'
import { ask } from './ask.ts'

let dataDir: string
let settings: Record<string, string>

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-key-'))
  settings = { DATABASE_URL: await emptyDatabase() }
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

const create = (...args: string[]) => runService({ args: ['key', 'create', ...args], dataDir, settings })
const keyIn = (output: string): string => /^sw_\S{43}$/m.exec(output)![0]

test('production without a JWT is refused until there is a key, and then serves its holder', async () => {
  const refused = await runService({ dataDir, settings })
  expect(refused.code).toBe(1)
  expect(refused.output).toContain('stellwerk key create')

  const made = await create('--name', 'operator', '--scopes', 'all', '--tenants', 'all')
  expect(made).toMatchObject({ code: 0, output: expect.stringContaining('It cannot be shown again') })
  const operator = keyIn(made.output)
  const limited = await create(
    '--name=billing',
    '--scopes=read_jobs, ENQUEUE_JOBS',
    '--tenants',
    'default',
    '--expires=2100-01-01T00:00:00Z',
  )
  expect(limited.code).toBe(0)

  const service = startService({ dataDir, settings })
  await service.started()
  const whoAmI = '{ viewer { principal { name kind } scopes allTenants tenants { nodes { key } } expiresAt } }'
  const asOperator = await ask(service, whoAmI, {}, operator)
  expect(asOperator.data.viewer).toMatchObject({ principal: { name: 'operator', kind: 'SERVICE' }, allTenants: true })
  expect(new Set(asOperator.data.viewer.scopes)).toEqual(new Set(scopes))
  expect((await ask(service, whoAmI, {}, keyIn(limited.output))).data.viewer).toEqual({
    principal: { name: 'billing', kind: 'SERVICE' },
    scopes: ['READ_JOBS', 'ENQUEUE_JOBS'],
    allTenants: false,
    tenants: { nodes: [{ key: 'default' }] },
    expiresAt: '2100-01-01T00:00:00.000Z',
  })
  const { data } = await ask(service, '{ auditLog { nodes { action actor { id kind } } } }', {}, operator)
  expect(data.auditLog.nodes).toContainEqual({ action: 'API_KEY_CHANGE', actor: { id: 'cli', kind: 'SYSTEM' } })
  // While the service runs too, and it is good at once.
  const late = await create('--name', 'late', '--scopes', 'read_jobs', '--tenants', 'default')
  expect((await ask(service, '{ viewer { principal { name } } }', {}, keyIn(late.output))).status).toBe(200)
  expect(service.output()).not.toContain(operator)
  expect((await service.stop()).code).toBe(0)
}, 60_000)

describe('what is wrong is said, and nothing is made', () => {
  test.each([
    [['--name', 'x'], /--scopes is missing[\s\S]*--tenants is missing/],
    [['--name', 'x', '--scopes', 'read_job', '--tenants', 'all'], /no scope read_job. Did you mean read_jobs\?/],
    [['--name', 'x', '--scopes', 'everything', '--tenants', 'all'], /no scope everything. These are read_jobs, /],
    [['--name', 'x', '--scopes', 'all', '--tenants', 'nobody'], /no tenant nobody. Nothing was made/],
    [['--name', 'x', '--scopes', 'all', '--tenants', 'all', '--expires', 'soon'], /not an instant in the future/],
    [['--name', 'x', '--scopes', 'all', '--tenants', 'all', '--expires', '2001-01-01'], /not an instant in the future/],
    [['--name', 'x'.repeat(201), '--scopes', 'all', '--tenants', 'all'], /--name must have 1 to 200/],
    [['--nam', 'x'], /Unknown option '--nam'/],
  ])('%j', async (args, says) => {
    const { code, output } = await create(...args)
    expect(code).toBe(1)
    expect(output).toMatch(says)
    expect(output).not.toMatch(/sw_/)
    expect(output).not.toMatch(/^ {4}at /m)
  })

  test('help is help', async () => {
    const { code, output } = await runService({ args: ['key', '--help'], dataDir, settings })
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('--tenants') })
  })
})
