import { afterAll, beforeAll, expect, test } from 'vitest'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { createAuthenticate, type Authenticate } from '../../src/server/auth.ts'
import { watchCaller, type CallerLoss } from '../../src/server/watch-caller.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { apiKey } from './support.ts'

let database: TestDatabase
let authenticate: Authenticate

beforeAll(async () => {
  database = await testDatabase()
  authenticate = createAuthenticate({
    findApiKey: (key) => findApiKey(database.pool, key),
    verifyJwt: () => Promise.reject(new Error('no JWT here')),
  })
})
afterAll(() => database.drop())

test.each([
  ['revoked', 'revoked_at = now()', 'refused'],
  ['expired before its time', "expires_at = now() - interval '1 second'", 'refused'],
  ['robbed of a scope', "scopes = '{READ_JOBS}'", 'rights lost'],
  ['robbed of its tenants', "tenant_ids = '{}'", 'rights lost'],
])('S06: a key that is %s ends the stream', async (_, change, why) => {
  const { id, key } = await apiKey(database)
  const authorization = `Bearer ${key}`
  const caller = (await authenticate(authorization))!
  const losses: CallerLoss[] = []
  const unwatch = watchCaller({
    authenticate,
    authorization,
    caller,
    onLoss: (loss) => void losses.push(loss),
    recheckMs: 50,
  })
  await database.sql(`update mdm.aa_api_key set ${change} where id = $1`, [id])
  await until(() => losses.length > 0, 'the loss is told')
  unwatch()
  expect(losses[0]).toBe(why)
})

test('a key that keeps or gains rights does not, and a database that is away does not', async () => {
  const { id, key } = await apiKey(database, ['READ_JOBS'])
  const caller = (await authenticate(`Bearer ${key}`))!
  await database.sql("update mdm.aa_api_key set scopes = '{READ_JOBS,ENQUEUE_JOBS}' where id = $1", [id])
  const losses: CallerLoss[] = []
  let asked = 0
  const ask: Authenticate = async (authorization) => {
    if (++asked % 2 === 0) throw new Error('Connection terminated unexpectedly')
    return authenticate(authorization)
  }
  const unwatch = watchCaller({
    authenticate: ask,
    authorization: `Bearer ${key}`,
    caller,
    onLoss: (loss) => void losses.push(loss),
    recheckMs: 100,
  })
  await until(async () => asked > 20, 'rights were looked at twenty times')
  unwatch()
  expect(losses).toEqual([])
})
