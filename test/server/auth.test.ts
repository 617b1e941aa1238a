import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { findTenantIds } from '../../src/resolvers/find-tenant-ids.ts'
import { hasApiKey } from '../../src/resolvers/has-api-key.ts'
import { createAuthenticate, type Authenticate } from '../../src/server/auth.ts'
import { checkProductionAuth } from '../../src/server/check-production-auth.ts'
import { ensureDevelopmentToken, ensureJwtSecret } from '../../src/server/development-token.ts'
import { createVerifyJwt } from '../../src/server/verify-jwt.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { apiKey, jwtSecret, token } from './support.ts'

let database: TestDatabase
let tenants: Record<string, string>

beforeAll(async () => {
  database = await testDatabase()
  const rows = await database.sql<{ id: string; tenant_key: string }>('select id, tenant_key from mdm.aa_tenant')
  tenants = Object.fromEntries(rows.map(({ id, tenant_key }) => [tenant_key, id]))
})
afterAll(() => database.drop())

function authenticator(auth: Partial<Parameters<typeof createVerifyJwt>[0]['auth']> = {}): Authenticate {
  return createAuthenticate({
    findApiKey: (key) => findApiKey(database.pool, key),
    verifyJwt: createVerifyJwt({
      auth: { jwtSecret, jwksUrl: null, audience: 'stellwerk', issuer: null, ...auth },
      findTenantIds: (names) => findTenantIds(database.pool, names),
    }),
  })
}

describe('a JWT', () => {
  test('says who is calling, of what kind, with which scopes and tenants, until when', async () => {
    const exp = Math.floor(Date.now() / 1000) + 600
    const scope = 'READ_JOBS enqueue_jobs  Manage_Metadata no_such_scope'
    const jwt = await token({
      sub: 'ada',
      name: 'Ada',
      kind: 'service',
      scope,
      tenants: ['default', tenants['platform'], 'nowhere'],
      exp,
    })
    const caller = await authenticator()(`Bearer ${jwt}`)
    expect(caller).toEqual({
      principal: { id: 'ada', name: 'Ada', kind: 'SERVICE' },
      scopes: new Set(['READ_JOBS', 'ENQUEUE_JOBS', 'MANAGE_METADATA']),
      tenantIds: new Set([tenants['default'], tenants['platform']]),
      expiresAt: new Date(exp * 1000),
    })
  })

  test('is of a user without scopes and tenants unless it says otherwise', async () => {
    const caller = await authenticator()(`bearer ${await token({ scope: undefined, tenants: undefined })}`)
    expect(caller).toMatchObject({ principal: { kind: 'USER', name: null }, scopes: new Set(), tenantIds: new Set() })
  })

  test('of closed tenants is good for the others, and of closed ones alone for nothing', async () => {
    const [shut] = await database.sql<{ id: string }>(
      `insert into mdm.aa_tenant (tenant_key, name, status) values ('shut', 'Shut', 'closed') returning id`,
    )
    const callerOf = async (names: readonly string[]) => authenticator()(`Bearer ${await token({ tenants: names })}`)
    expect((await callerOf(['default', 'shut', 'nobody']))!.tenantIds).toEqual(new Set([tenants['default']]))
    for (const names of [['shut'], [shut!.id], ['shut', 'nobody']])
      await expect(callerOf(names)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await callerOf(['nobody']))!.tenantIds).toEqual(new Set())
  })
  test('for every tenant names "*"', async () => {
    expect(await authenticator()(`Bearer ${await token({ tenants: '*' })}`)).toMatchObject({ tenantIds: 'all' })
  })

  const now = () => Math.floor(Date.now() / 1000)
  test.each([
    ['expired beyond the leeway', () => token({}, { secondsLeft: -61 }), 'TOKEN_EXPIRED'],
    ['without exp', () => token({ exp: undefined }), 'UNAUTHENTICATED'],
    ['without sub', () => token({ sub: undefined }), 'UNAUTHENTICATED'],
    ['with an empty sub', () => token({ sub: '' }), 'UNAUTHENTICATED'],
    ['for another audience', () => token({ aud: 'other' }), 'UNAUTHENTICATED'],
    ['without an audience', () => token({ aud: undefined }), 'UNAUTHENTICATED'],
    ['not valid yet', () => token({ nbf: now() + 120 }), 'UNAUTHENTICATED'],
    [
      'signed with another secret',
      () => token({}, { secret: 'another secret that is long enough' }),
      'UNAUTHENTICATED',
    ],
    ['signed with another algorithm', () => token({}, { alg: 'HS512' }), 'UNAUTHENTICATED'],
    ['of a worker', () => token({ kind: 'worker' }), 'UNAUTHENTICATED'],
    ['with tenants that are no list', () => token({ tenants: 'default' }), 'UNAUTHENTICATED'],
    ['with scopes that are no text', () => token({ scope: ['read_jobs'] }), 'UNAUTHENTICATED'],
    ['that is none', async () => 'abc.def.ghi', 'UNAUTHENTICATED'],
    [
      'not signed',
      async () =>
        `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"ada"}').toString('base64url')}.`,
      'UNAUTHENTICATED',
    ],
  ])('%s is refused', async (_, make, code) => {
    await expect(authenticator()(`Bearer ${await make()}`)).rejects.toMatchObject({ code })
  })

  test('within the leeway is good, until the leeway ends', async () => {
    const caller = await authenticator()(`Bearer ${await token({ nbf: now() + 30 }, { secondsLeft: -30 })}`)
    expect(caller!.expiresAt!.getTime()).toBeGreaterThan(Date.now() + 20_000)
  })

  test('of another issuer is refused where one is set', async () => {
    const authenticate = authenticator({ issuer: 'https://id.example' })
    await expect(authenticate(`Bearer ${await token({ iss: 'https://evil.example' })}`)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    expect(await authenticate(`Bearer ${await token({ iss: 'https://id.example' })}`)).not.toBeNull()
  })
})

describe('a key set', () => {
  test.each(['RS256', 'ES256', 'EdDSA'])('signs with %s, and a shared secret cannot stand in for it', async (alg) => {
    const { publicKey, privateKey } = await generateKeyPair(alg)
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg }
    const keys = createServer((_, response) => response.end(JSON.stringify({ keys: [jwk] })))
    await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
    const jwksUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`
    const authenticate = authenticator({ jwtSecret: null, jwksUrl })
    const claims = { sub: 'bob', aud: 'stellwerk', exp: now() + 60 }
    const jwt = await new SignJWT(claims).setProtectedHeader({ alg, kid: 'one' }).sign(privateKey)
    expect(await authenticate(`Bearer ${jwt}`)).toMatchObject({ principal: { id: 'bob' } })
    await expect(authenticate(`Bearer ${await token()}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const stranger = await new SignJWT(claims)
      .setProtectedHeader({ alg, kid: 'one' })
      .sign((await generateKeyPair(alg)).privateKey)
    await expect(authenticate(`Bearer ${stranger}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    keys.closeAllConnections()
    keys.close()
  })

  test('that cannot be fetched says nothing about the token', async () => {
    const { privateKey } = await generateKeyPair('ES256')
    const jwt = await new SignJWT({ sub: 'bob', aud: 'stellwerk', exp: now() + 60 })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey)
    const authenticate = authenticator({ jwksUrl: 'http://127.0.0.1:1/' })
    await expect(authenticate(`Bearer ${jwt}`)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  const now = () => Math.floor(Date.now() / 1000)
})

describe('an API key', () => {
  test('is of a service, with the scopes and tenants that it was made with', async () => {
    const { id, key } = await apiKey(database, ['READ_JOBS'])
    expect(key).toMatch(/^sw_[\w-]{43}$/)
    expect(await authenticator()(`Bearer ${key}`)).toMatchObject({
      principal: { id, kind: 'SERVICE' },
      scopes: new Set(['READ_JOBS']),
      tenantIds: 'all',
    })
  })

  test('is not in the database, its making is in the journal', async () => {
    const { id, key } = await apiKey(database)
    const [row] = await database.sql(
      'select encode(secret_hash, $2) as hash, to_jsonb(k)::text as everything from mdm.aa_api_key k where id = $1',
      [id, 'hex'],
    )
    expect(row!['hash']).toHaveLength(64)
    expect(row!['everything']).not.toContain(key)
    const [journaled] = await database.sql(
      "select actor_principal_id, payload from mdm.aa_audit_log where action = 'api_key_change' and payload->>'id' = $1",
      [id],
    )
    expect(journaled).toMatchObject({ actor_principal_id: 'system:test', payload: { change: 'created' } })
  })

  test('that is unknown, revoked or past its time is refused', async () => {
    const authenticate = authenticator()
    const revoked = await apiKey(database)
    await database.sql('update mdm.aa_api_key set revoked_at = now() where id = $1', [revoked.id])
    const expired = await apiKey(database, scopes, new Date(Date.now() - 1_000))
    await expect(authenticate('Bearer sw_unknown')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(authenticate(`Bearer ${revoked.key}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(authenticate(`Bearer ${expired.key}`)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('is refused at most a second after it was revoked', async () => {
    const authenticate = authenticator()
    const { id, key } = await apiKey(database)
    await authenticate(`Bearer ${key}`)
    await database.sql('update mdm.aa_api_key set revoked_at = now() where id = $1', [id])
    const isRefused = () =>
      authenticate(`Bearer ${key}`).then(
        () => false,
        () => true,
      )
    expect(await until(isRefused, 'the key is refused', 1_500)).toBe(true)
  })

  test('has its use noted, at most once an hour', async () => {
    const { id, key } = await apiKey(database)
    const lastUse = async () =>
      (
        await database.sql<{ last: Date | null }>('select last_used_at as last from mdm.aa_api_key where id = $1', [id])
      )[0]!.last
    await authenticator()(`Bearer ${key}`)
    const first = await until(lastUse, 'the use is noted')
    expect((await findApiKey(database.pool, key)).state).toBe('valid')
    expect(await lastUse()).toEqual(first)
    await database.sql("update mdm.aa_api_key set last_used_at = now() - interval '61 minutes' where id = $1", [id])
    await authenticator()(`Bearer ${key}`)
    await until(async () => ((await lastUse()) ?? first).getTime() >= first.getTime(), 'the use is noted again')
  })

  test('a burst of calls costs one look-up', async () => {
    let lookUps = 0
    const authenticate = createAuthenticate({
      findApiKey: (key) => (lookUps++, findApiKey(database.pool, key)),
      verifyJwt: () => Promise.reject(new Error('no JWT here')),
    })
    const { key } = await apiKey(database)
    await Promise.all(Array.from({ length: 50 }, () => authenticate(`Bearer ${key}`)))
    expect(lookUps).toBe(1)
  })
})

test.each([undefined, null, ''])('no authorization (%j) is nobody', async (authorization) => {
  expect(await authenticator()(authorization)).toBeNull()
})

test.each(['Basic YTpi', 'Bearer', 'Bearer a b', `Bearer ${'x'.repeat(20_000)}`, 'sw_naked'])(
  'an authorization of another form is refused: %.20s',
  async (authorization) => {
    await expect(authenticator()(authorization)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  },
)

describe('the secrets of development', () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-token-'))
  })
  afterAll(() => rm(dataDir, { recursive: true }))

  test('the token is for everything, readable by its owner alone, and kept', async () => {
    const first = await ensureDevelopmentToken(dataDir, database.pool)
    expect(first.path).toBe(join(dataDir, 'admin.token'))
    expect(await authenticator()(`Bearer ${first.token}`)).toMatchObject({
      scopes: new Set(scopes),
      tenantIds: 'all',
      expiresAt: null,
    })
    expect((await stat(first.path)).mode & 0o777).toBe(0o600)
    expect((await readFile(first.path, 'utf8')).trim()).toBe(first.token)
    expect((await ensureDevelopmentToken(dataDir, database.pool)).token).toBe(first.token)
  })

  test('a token that the database does not know is made anew', async () => {
    await writeFile(join(dataDir, 'admin.token'), 'sw_of_another_database\n')
    const { token: made } = await ensureDevelopmentToken(dataDir, database.pool)
    expect((await findApiKey(database.pool, made)).state).toBe('valid')
  })

  test('the JWT secret is made once', async () => {
    const secret = await ensureJwtSecret(dataDir)
    expect(secret.length).toBeGreaterThanOrEqual(32)
    expect((await stat(join(dataDir, 'jwt.secret'))).mode & 0o777).toBe(0o600)
    expect(await ensureJwtSecret(dataDir)).toBe(secret)
  })
})

test('production starts only where somebody could sign in', async () => {
  const none = { jwtSecret: null, jwksUrl: null, audience: 'stellwerk', issuer: null }
  const empty = await testDatabase()
  try {
    const ask = () => hasApiKey(empty.pool)
    expect(await checkProductionAuth({ env: 'production', auth: none }, ask)).toMatch(/STELLWERK_JWT_SECRET/)
    expect(await checkProductionAuth({ env: 'development', auth: none }, ask)).toBeNull()
    expect(await checkProductionAuth({ env: 'production', auth: { ...none, jwtSecret } }, ask)).toBeNull()
    expect(
      await checkProductionAuth({ env: 'production', auth: { ...none, jwksUrl: 'https://id.example/keys' } }, ask),
    ).toBeNull()
    const { id } = await apiKey(empty)
    expect(await checkProductionAuth({ env: 'production', auth: none }, ask)).toBeNull()
    await empty.sql('update mdm.aa_api_key set revoked_at = now() where id = $1', [id])
    expect(await checkProductionAuth({ env: 'production', auth: none }, ask)).not.toBeNull()
  } finally {
    await empty.drop()
  }
})
