import { afterEach, beforeEach, expect, test } from 'vitest'
import { createListener } from '../../src/db/listen.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(() => database.drop())

test('a listener that is stopped while it connects again leaves no session behind', async () => {
  const proxy = await tcpProxy(database.url)
  try {
    const listener = createListener({ url: proxy.url, onLost: () => undefined, onRestored: () => undefined })
    await listener.listen('anything', () => undefined)
    const before = proxy.connections()
    proxy.cut()
    await until(() => !listener.connected(), 'it has lost its session')
    await until(() => proxy.connections() === before, 'it is connecting again')
    await listener.stop()
    expect(listener.connected()).toBe(false)
    await until(() => proxy.connections() === 0, 'its session is closed')
  } finally {
    await proxy.close()
  }
})

test('a listener that is stopped while it connects for the first time leaves no session behind', async () => {
  const proxy = await tcpProxy(database.url)
  try {
    const listener = createListener({ url: proxy.url, onLost: () => undefined, onRestored: () => undefined })
    const listening = listener.listen('anything', () => undefined).catch(() => undefined)
    await listener.stop()
    await listening
    expect(listener.connected()).toBe(false)
    await until(() => proxy.connections() === 0, 'its session is closed')
  } finally {
    await proxy.close()
  }
})
