import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

test('a setting that has no effect yet is named by one warning, and others by none', async () => {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-unheeded-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const warnings = async (settings: Record<string, string>) => {
    const service = startService({
      dataDir,
      settings: { DATABASE_URL: database.url, STELLWERK_ENV: 'development', ...settings },
    })
    await service.started()
    await service.stop()
    return service.output().match(/.*"level":"warn".*has no effect.*/g) ?? []
  }
  const given = { REDIS_URL: 'redis://:secret@127.0.0.1:6379', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  const [warning, ...others] = await warnings(given)
  expect(JSON.parse(warning!)).toMatchObject({
    settings: ['OTEL_EXPORTER_OTLP_ENDPOINT', 'REDIS_URL'],
    msg: 'OTEL_EXPORTER_OTLP_ENDPOINT, REDIS_URL has no effect yet: Redis and OpenTelemetry are not served',
  })
  expect(warning).not.toContain('secret')
  expect(others).toEqual([])
  expect(await warnings({})).toEqual([])
}, 60_000)
