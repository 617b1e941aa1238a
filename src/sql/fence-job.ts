import { statement } from './statement.ts'

export const fenceJob = statement<[id: string, lease: string], { held: true }>(
  'fence_job',
  `-- running stays running: holds the job's row until the transaction ends, so that nobody takes the claim back meanwhile; no row: the claim is gone
select true as held
  from mdm.aa_job where id = $1 and lease = $2 and status = 'running'
   for no key update`,
)
