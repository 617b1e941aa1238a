import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService, type Service } from '../support/service.ts'

/** A started service on a data directory that goes with it. */
export async function serviceForClients(
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: Service; end(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-client-'))
  const service = startService({ dataDir, settings })
  await service.started()
  return {
    service,
    async end() {
      await service.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** An email of development, in an hour. */
export const laterEmail = {
  job: { emailSend: { to: { address: 'ada@example.org' }, content: { subject: 'Hello', text: 'It runs.' } } },
  schedule: { after: 'PT1H' },
} as const
