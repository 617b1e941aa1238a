import { statement } from './statement.ts'

export const startCommitting = statement<[importId: string], { id: string }>(
  'start_committing',
  `-- validating -> committing
update mdm.aa_import_job set status = 'committing' where id = $1::uuid and status = 'validating' returning id`,
)
