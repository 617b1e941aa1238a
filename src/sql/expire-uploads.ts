import { statement } from './statement.ts'

export const expireUploads = statement<[olderThanMs: number, limit: number], { deleted: number }>(
  'expire_uploads',
  `-- pending_upload -> deleted, the oldest first, on ddm_attachment_pending_upload; what was sent and never committed goes with them
with gone as (
  delete from mdm.ddm_attachment
   where id in (select a.id from mdm.ddm_attachment a
                 where a.upload_status = 'pending_upload' and a.created_at < now() - $1::float8 * interval '1 millisecond'
                 order by a.created_at limit $2::int for update skip locked)
  returning store, incoming_key),
removed as (
  insert into mdm.aa_object_removal (store, object_key) select store, incoming_key from gone on conflict (store, object_key) do nothing)
select count(*)::int as deleted from gone`,
)
