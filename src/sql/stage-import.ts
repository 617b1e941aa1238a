import { statement } from './statement.ts'

type Params = [importId: string, format: string, encoding: string | null, warning: string | null]

export const stageImport = statement<Params, { id: string }>(
  'stage_import',
  `-- uploaded -> staging; what the file turned out to be is written down
update mdm.aa_import_job set status = 'staging', format = $2::text, encoding = $3::text, warning = coalesce($4::text, warning)
 where id = $1::uuid and status in ('uploaded', 'staging')
returning id`,
)
