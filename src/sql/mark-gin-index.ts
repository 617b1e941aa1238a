import { statement } from './statement.ts'

export const markGinIndex = statement<
  [typeId: string, toggleVersion: number, status: 'pending' | 'building' | 'failed', error: string | null],
  { id: string }
>(
  'mark_gin_index',
  `-- says how far the index for external sources of a type is, as long as nobody toggled it since the job looked; by the primary key
update mdm.ddm_entity_type
   set gin_index_status = $3, gin_index_error = $4::jsonb, gin_index_updated_at = now()
 where id = $1::uuid and gin_toggle_version = $2::int
returning id`,
)
