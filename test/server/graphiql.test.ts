import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { apiKey, serve, stopServers } from './support.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterEach(stopServers)
afterAll(() => database.drop())

test.each(['/graphiql', '/graphql'])('%s is a page that asks no other host', async (path) => {
  const { url } = await serve(database)
  const response = await fetch(url + path, { headers: { accept: 'text/html' } })
  const page = await response.text()
  expect(response.headers.get('content-type')).toContain('text/html')
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(page).toContain('YogaGraphiQL')
  expect(
    page.match(/(?:src|href|action)\s*=\s*["']?https?:[^"'\s>]*|url\(\s*["']?https?:[^)]*|@import[^;]*/g),
  ).toBeNull()

  const policy = response.headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("connect-src 'self'")
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/)
  const [, script] = /<script>([\s\S]*)<\/script>/.exec(page)!
  expect(policy).toContain(createHash('sha256').update(script!).digest('base64'))
})

test('who cannot unpack gets it plain', async () => {
  const { url } = await serve(database)
  const response = await fetch(`${url}/graphiql`, { headers: { 'accept-encoding': 'identity' } })
  expect(response.headers.get('content-encoding')).toBeNull()
  expect(await response.text()).toMatch(/^\s*<!doctype html>/i)
})

test('in production it is for administrators', async () => {
  const { url } = await serve(database, { config: { env: 'production' } })
  const open = async (authorization?: string) => {
    const response = await fetch(`${url}/graphiql`, {
      headers: { accept: 'text/html', ...(authorization && { authorization }) },
    })
    await response.body?.cancel()
    return response
  }
  const anonymous = await open()
  expect(anonymous.status).toBe(401)
  expect(anonymous.headers.get('www-authenticate')).toMatch(/^Basic/)
  const reader = await apiKey(database, ['READ_JOBS'])
  expect((await open(`Bearer ${reader.key}`)).status).toBe(403)
  expect((await open('Bearer sw_nothing')).status).toBe(401)
  const admin = await apiKey(database, ['MANAGE_METADATA'])
  expect((await open(`Bearer ${admin.key}`)).status).toBe(200)
  expect((await open(`Basic ${Buffer.from(`me:${admin.key}`).toString('base64')}`)).status).toBe(200)
})
