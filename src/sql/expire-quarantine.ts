import { statement } from './statement.ts'

export const expireQuarantine = statement<[olderThanMs: number, limit: number], { deleted: number }>(
  'expire_quarantine',
  `-- infected, unscannable, error stay what they are, their bytes are deleted; the oldest first, on ddm_attachment_locked
with old as (
  select a.id, a.store, a.object_key, a.incoming_key
    from mdm.ddm_attachment a
   where a.upload_status = 'committed' and a.virus_scan_status in ('infected', 'unscannable', 'error')
     and a.created_at < now() - $1::float8 * interval '1 millisecond'
     and coalesce(a.scanned_at, a.created_at) < now() - $1::float8 * interval '1 millisecond'
   order by a.created_at limit $2::int
     for update skip locked),
emptied as (
  update mdm.ddm_attachment a set upload_status = 'deleted', object_key = null from old where a.id = old.id),
removed as (
  insert into mdm.aa_object_removal (store, object_key)
  select store, object_key from old where object_key is not null
  union
  select store, incoming_key from old
  on conflict (store, object_key) do nothing)
select count(*)::int as deleted from old`,
)
