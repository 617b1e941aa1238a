import { statement } from './statement.ts'

export const readProgress = statement<[ids: readonly string[]], { id: string; progress: Record<string, unknown> }>(
  'read_progress',
  `-- reads the latest progress report of these jobs where they run, by the primary key
select j.id, j.progress
  from mdm.aa_job j
 where j.id = any ($1::uuid[]) and j.status = 'running' and j.progress is not null`,
)
