import { statement } from './statement.ts'

export const markAttributeIndex = statement<
  [attributeId: string, toggleVersion: number, status: 'pending' | 'building' | 'failed', error: string | null],
  { id: string }
>(
  'mark_attribute_index',
  `-- says how far the index of an attribute is, as long as nobody toggled it since the job looked; by the primary key
update mdm.ddm_entity_type_attribute
   set index_status = $3, index_error = $4::jsonb, index_updated_at = now()
 where id = $1::uuid and toggle_version = $2::int
returning id`,
)
