import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'

const indexes = [
  ['aa_job_by_priority', '(priority, available_at, id)'],
  ['aa_job_by_kind_priority', '(job_kind, priority, available_at, id)'],
] as const

const lock = `hashtextextended('stellwerk priority index', 0)`
const lockPollMs = 200

/**
 * Makes the indexes that pools with dispatch `priority` claim on: either kind of pool goes kind by kind where jobs of other kinds are due or pairs
 * are left out, and over all kinds else. Only where there is such a pool, since each enqueue pays for them (2 us and 140 bytes of WAL each). Of several
 * instances one builds, the others wait; a build that was cut short is dropped and made anew.
 */
export async function ensurePriorityIndexes(url: string): Promise<void> {
  const client = new Client({ connectionString: url, options: '-c TimeZone=UTC', application_name: 'stellwerk index' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    // Never blocked in the lock: a waiting session would stop the other's concurrent build.
    while (!(await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${lock}) as taken`)).rows[0]!.taken)
      await wait(lockPollMs)
    for (const [name, columns] of indexes) {
      const { rows } = await client.query<{ valid: boolean }>(
        `select i.indisvalid as valid from pg_index i where i.indexrelid = to_regclass('mdm.${name}')`,
      )
      if (rows[0]?.valid === false) await client.query(`drop index concurrently mdm.${name}`)
      if (rows[0]?.valid !== true)
        await client.query(`create index concurrently ${name} on mdm.aa_job ${columns} where lane = 0`)
    }
  } finally {
    await client.end()
  }
}
