import { statement } from './statement.ts'

/** Looks at so many events, over or not, and is at its end where all of a batch are young. */
export const pruneEvents = statement<
  [keepDays: number, afterId: string, limit: number],
  { deleted: number; lastId: string | null }
>(
  'prune_events',
  `-- dispatched events that nobody waits for -> (deleted), in small batches along the primary key
with old as materialized (
  select e.id, e.tenant_id, e.fanned_out_at < now() - $1::int * interval '1 day' as aged
    from mdm.aa_outbox_event e
   where e.id > $2::bigint and e.status = 'dispatched'
   order by e.id
   limit $3::int),
gone as (
  delete from mdm.aa_outbox_event e
   where e.id = any (array(
     select o.id from old o
      where o.aged and not exists (
        select from mdm.aa_webhook_subscription s
          join mdm.aa_webhook_delivery d on d.subscription_id = s.id and d.event_pk = o.id and d.status <> 'delivered'
         where s.tenant_id = o.tenant_id and d.status in ('pending', 'held', 'dead'))))
  returning 1)
select (select count(*)::int from gone) as deleted,
       (select case when count(*) = $3::int and bool_or(aged) then max(id)::text end from old) as "lastId"`,
)
