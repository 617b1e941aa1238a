import { statement } from './statement.ts'

export interface ReindexRun {
  readonly typeId: string
  readonly targetVersion: number
  readonly done: number
  readonly vectors: number
  readonly total: number
  readonly waitsFor: readonly string[]
}

export const readReindexRun = statement<[jobId: string], ReindexRun>(
  'read_reindex_run',
  `-- reads how far a reindex is, by the primary key; no row: it has not begun
select r.entity_type_id as "typeId", r.target_version as "targetVersion", r.done::float8 as done, r.vectors::float8 as vectors, r.total::float8 as total,
       r.waits_for as "waitsFor"
  from mdm.ddm_reindex_run r
 where r.job_id = $1::uuid`,
)
