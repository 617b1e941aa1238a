import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startEmbedded, type EmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { emptyDatabase, testDatabase, type TestDatabase } from '../support/database.ts'
import { runService, startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ask, enqueue, readiness, statusOf } from './ask.ts'

// Several processes start in each test; a machine that is busy takes its time.
vi.setConfig({ testTimeout: 60_000 })

const startWithinMs = 30_000
const kinds = fileURLToPath(new URL('../crash/kinds.ts', import.meta.url))
const email = { to: { address: 'ada@example.org' }, content: { subject: 'Hello', text: 'It runs.' } }

let home: string
let database: TestDatabase
/** In which nobody has a key. */
let signless: TestDatabase
const services: Service[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk start '))
  database = await testDatabase()
  signless = await testDatabase()
})
afterAll(async () => {
  await database.drop()
  await signless.drop()
  await rm(home, { recursive: true, force: true })
})
afterEach(async () => {
  for (const service of services.splice(0)) {
    service.signal('SIGKILL')
    await service.exited
  }
})

const development = (url: string) => ({ DATABASE_URL: url, STELLWERK_ENV: 'development' })

function start(settings: Readonly<Record<string, string>>): Service {
  const service = startService({ dataDir: join(home, `instance ${Math.random()}`), settings })
  services.push(service)
  return service
}

/** Starts where the start must be refused, and answers the sentence. */
async function refusal(settings: Readonly<Record<string, string>>): Promise<string> {
  const service = start(settings)
  const { code } = await service.exited
  expect({ code, output: service.output() }).toMatchObject({ code: 1 })
  expect(service.output()).not.toContain('    at ')
  return service.output()
}

test('in development with a database of one’s own everything is there, and a token', async () => {
  const service = start(development(database.url))
  await service.started()
  const id = await enqueue(service, 'email_send', email)
  await until(async () => (await statusOf(service, id)) === 'DONE', 'the job is done')
  expect(await (await fetch(`${await service.url()}/dev/mailbox`)).json()).toHaveLength(1)
  expect(await service.stop()).toMatchObject({ code: 0 })
})

test('in production it needs a way to sign in, then makes neither token nor mailbox', async () => {
  expect(await refusal({ DATABASE_URL: signless.url })).toMatch(/STELLWERK_JWT_SECRET.*STELLWERK_JWKS_URL/s)

  const service = start({ DATABASE_URL: database.url, STELLWERK_JWT_SECRET: 'a secret of tests that is long enough' })
  await service.started()
  await expect(service.token()).rejects.toThrow('ENOENT')
  expect((await fetch(`${await service.url()}/dev/mailbox`)).status).toBe(404)
  expect(service.output()).not.toContain('curl')
  expect((await ask(service, '{ viewer { principal { id } } }', {}, null)).status).toBeLessThan(500)
})

test('a database that does not exist', async () => {
  const url = new URL(database.url)
  url.pathname = '/nowhere'
  expect(await refusal(development(url.href))).toMatch(
    /has no database "nowhere" \(3D000\)\. Create it, or correct DATABASE_URL\./,
  )
  const migrated = await runService({ args: ['migrate'], dataDir: home, settings: { DATABASE_URL: url.href } })
  expect(migrated).toMatchObject({ code: 1, output: expect.stringContaining('has no database "nowhere"') })
})

test('a database that a newer version has migrated', async () => {
  const newer = await testDatabase()
  try {
    await newer.sql(
      `insert into public._prisma_migrations (id, checksum, finished_at, migration_name) values ('n', 'n', now(), '9999_newer')`,
    )
    expect(await refusal(development(newer.url))).toMatch(
      /The database is newer than this Stellwerk: it knows migration 9999_newer/,
    )
  } finally {
    await newer.drop()
  }
})

test('a database that is behind while migrating is off', async () => {
  const url = await emptyDatabase()
  const settings = { ...development(url), STELLWERK_MIGRATE: 'off' }
  expect(await refusal(settings)).toMatch(/0001_jobs is pending.*Run stellwerk migrate/s)

  const run = (...args: string[]) =>
    runService({ args: ['migrate', ...args], dataDir: home, settings: { DATABASE_URL: url } })
  expect(await run('--status')).toMatchObject({ code: 0, output: expect.stringMatching(/^0001_jobs +pending$/m) })
  expect(await run()).toMatchObject({ code: 0, output: expect.stringMatching(/^Applied: 0001_jobs, /) })
  expect(await run()).toMatchObject({ code: 0, output: 'The database is up to date.\n' })
  expect(await run('--status')).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^0001_jobs +applied +\d{4}-/m),
  })
})

test('a PostgreSQL that is too old', async () => {
  const old = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => socket.write(bytes[0] === 0x51 ? versionOfOldServer() : welcome()))
  }).listen(0, '127.0.0.1')
  await once(old, 'listening')
  const { port } = old.address() as { port: number }
  try {
    const sentence = await refusal(development(`postgresql://me:swordfish@127.0.0.1:${port}/any`))
    expect(sentence).toContain('runs PostgreSQL 15.9, Stellwerk needs 16 or newer')
    expect(sentence).not.toContain('swordfish')
  } finally {
    old.close()
  }
})

describe('a server that comes and goes', () => {
  let dataDir: string
  let server: EmbeddedPostgres
  let url: string

  const serve = async (): Promise<void> => {
    // The user `stranger` needs a password, also through the socket.
    const rules = join(home, 'pg_hba.conf')
    await writeFile(rules, 'local all stranger scram-sha-256\nlocal all all trust\n')
    server = await startEmbedded({ dataDir, settings: { hba_file: rules, shared_buffers: '32MB', fsync: 'off' } })
    url = server.url
  }

  beforeAll(async () => {
    dataDir = await mkdtemp(join(home, 'server '))
  })
  beforeEach(serve)
  afterEach(() => server.stop())

  test('a wrong password is refused and not repeated, the right one is good', async () => {
    const admin = new Client({ connectionString: url })
    await admin.connect()
    await admin.query(`create role stranger login superuser password 'right horse'`)
    await admin.end()
    const as = (password: string): string => url.replace('postgres@', `stranger:${encodeURIComponent(password)}@`)
    const sentence = await refusal(development(as('wrong horse')))
    expect(sentence).toMatch(/refuses the password of user "stranger" \(28P01\)\. Correct DATABASE_URL\./)
    expect(sentence).not.toContain('horse')
    const migrated = await runService({
      args: ['migrate'],
      dataDir: home,
      settings: { DATABASE_URL: as('wrong horse') },
    })
    expect(migrated).toMatchObject({ code: 1, output: expect.stringContaining('refuses the password') })
    expect(migrated.output).not.toContain('horse')

    const service = start(development(as('right horse')))
    await service.started()
    expect(service.output()).not.toContain('horse')
  })

  test('not there at the start: says so, is alive and not ready, and goes on when it comes', async () => {
    await server.stop()
    const service = start(development(url))
    await until(
      () => /cannot be reached now \(\w+\)\. Trying again every second\./.test(service.output()),
      'it says so',
      startWithinMs,
    )
    expect((await fetch(`${await service.url()}/health`)).status).toBe(200)
    expect(await readiness(service)).toMatchObject({
      status: 503,
      reasons: expect.arrayContaining([expect.stringContaining('The database does not answer')]),
    })
    expect(await ask(service, '{ viewer { principal { id } } }', {}, 'sw_any')).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
    })
    await serve()
    await service.started()
    expect((await readiness(service)).status).toBe(200)
    expect(service.output().match(/Trying again every second/g)!.length).toBeLessThan(4)
  })

  test('gone in the middle of the migration: it begins anew when it is back', async () => {
    await migrate(url)
    const holder = new Client({ connectionString: url })
    holder.on('error', () => {})
    await holder.connect()
    await holder.query('begin; lock table public._prisma_migrations')
    const service = start(development(url))
    const waits = 'select from pg_locks where not granted'
    await until(async () => (await holder.query(waits)).rowCount, 'the migration waits', startWithinMs)
    await server.stop()
    await until(() => service.said('the database went away during the start') > 0, 'it has noticed')
    await serve()
    await service.started()
    expect((await readiness(service)).status).toBe(200)
  })

  test('gone, with a job in hand, when it is told to stop: ends with 0 in its time', async () => {
    const service = start({ ...development(url), STELLWERK_KINDS: kinds, STELLWERK_SHUTDOWN_MS: '6000' })
    await service.started()
    await enqueue(service, 'stubborn', { ms: 60_000 })
    await until(() => service.said('I run') > 0, 'the job runs')
    await server.stop()
    const asked = performance.now()
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(performance.now() - asked).toBeLessThan(8_000)
  })

  test('not there at the start, and stopped before it came', async () => {
    await server.stop()
    const service = start(development(url))
    await until(() => service.output().includes('Trying again'), 'it waits', startWithinMs)
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(service.output()).not.toContain('"level":"error"')
  })

  test('gone for a while: SERVICE_UNAVAILABLE in time, not ready, and workers go on when it is back', async () => {
    const service = start(development(url))
    await service.started()
    const token = await service.token()
    await server.stop()
    const asked = performance.now()
    const [read, change] = await Promise.all([
      ask(service, '{ jobs(first: 1) { nodes { id } } }', {}, token),
      ask(
        service,
        'mutation ($p: JSON!) { enqueueJob(input: { job: { custom: { kind: "email_send", payload: $p } } }) { outcome } }',
        { p: email },
      ),
    ])
    expect(performance.now() - asked).toBeLessThan(5_000)
    for (const answer of [read, change])
      expect(answer).toMatchObject({ status: 503, errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
    await until(async () => (await readiness(service)).status === 503, 'it is not ready')
    expect((await fetch(`${await service.url()}/health`)).status).toBe(200)
    expect(service.runs()).toBe(true)

    await serve()
    await until(async () => (await readiness(service)).status === 200, 'it is ready again', 20_000)
    const id = await enqueue(service, 'email_send', email)
    await until(async () => (await statusOf(service, id)) === 'DONE', 'the job is done', 20_000)
  })
})

/** AuthenticationOk and ReadyForQuery. */
function welcome(): Buffer {
  return Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))])
}

/** The one row in which PostgreSQL 15.9 names itself. */
function versionOfOldServer(): Buffer {
  const values = ['150009', '15.9']
  const columns = [
    { name: 'number', type: 23 },
    { name: 'name', type: 25 },
  ].map(({ name, type }) => {
    const facts = Buffer.alloc(18)
    facts.writeInt32BE(type, 6)
    return Buffer.concat([Buffer.from(`${name}\0`), facts])
  })
  const cells = values.map((value) => Buffer.concat([int32(value.length), Buffer.from(value)]))
  return Buffer.concat([
    message('T', Buffer.from([0, columns.length]), ...columns),
    message('D', Buffer.from([0, cells.length]), ...cells),
    message('C', Buffer.from('SELECT 1\0')),
    message('Z', Buffer.from('I')),
  ])
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
