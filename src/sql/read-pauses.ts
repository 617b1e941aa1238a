import { pauseRowColumns, type PauseRow } from './pause-row.ts'
import { statement } from './statement.ts'

export const readPauses = statement<[tenantIds: readonly string[] | null], PauseRow>(
  'read_pauses',
  `-- reads the pauses in force, a small table; $1 = the caller's tenants, null: all. Those of every tenant are everybody's to see
select ${pauseRowColumns}
  from mdm.aa_queue_pause p
 where (p.until is null or p.until > now())
   and ($1::uuid[] is null or p.tenant_id is null or p.tenant_id = any ($1))
 order by p.since, p.id`,
)
