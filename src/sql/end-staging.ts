import { statement } from './statement.ts'

type Params = [
  importId: string,
  /** JSON: attribute to the name under which the rows have it. */
  columns: string,
  /** Names of the columns in order. */
  header: readonly string[],
]

export const endStaging = statement<Params, { totalRows: number }>(
  'end_staging',
  `-- staging -> validating: all rows are read in
update mdm.aa_import_job set status = 'validating', total_rows = staged_rows, columns = $2::jsonb, header = $3::text[]
 where id = $1::uuid and status = 'staging'
returning total_rows as "totalRows"`,
)
