import { statement } from './statement.ts'

export const pruneEvents = statement<
  [keepDays: number, afterId: string, limit: number],
  { deleted: number; lastId: string | null }
>(
  'prune_events',
  `-- dispatched events that nobody waits for -> (deleted), in small batches along the primary key
with old as materialized (
  select e.id, not exists (
           select from mdm.aa_webhook_subscription s
             join mdm.aa_webhook_delivery d on d.subscription_id = s.id and d.event_pk = e.id and d.status <> 'delivered'
            where s.tenant_id = e.tenant_id and d.status in ('pending', 'held', 'dead')) as over
    from mdm.aa_outbox_event e
   where e.id > $2::bigint and e.status = 'dispatched' and e.fanned_out_at < now() - $1::int * interval '1 day'
   order by e.id
   limit $3::int),
gone as (
  delete from mdm.aa_outbox_event e where e.id = any (array(select id from old where over)) returning 1)
select (select count(*)::int from gone) as deleted, (select case when count(*) = $3::int then max(id)::text end from old) as "lastId"`,
)
