import { statement } from './statement.ts'

type Params = [takenDays: number, missedDays: number, afterId: string, limit: number]

/** Looks at so many deliveries, over or not, and is at its end where all of a batch are young. */
export const pruneDeliveries = statement<Params, { deleted: number; lastId: string | null }>(
  'prune_deliveries',
  `-- deliveries whose time is over -> (deleted), in small batches along the primary key, which is in order of time; what is pending stays
with old as materialized (
  select d.id, d.created_at < now() - $1::int * interval '1 day' as aged,
         d.status in ('delivered', 'cancelled') or d.status in ('dead', 'held') and d.created_at < now() - $2::int * interval '1 day' as over
    from mdm.aa_webhook_delivery d
   where d.id > $3::uuid
   order by d.id
   limit $4::int),
gone as (
  delete from mdm.aa_webhook_delivery d where d.id = any (array(select id from old where aged and over)) and d.status <> 'pending' returning 1)
select (select count(*)::int from gone) as deleted,
       (select case when count(*) = $4::int and bool_or(aged) then max(id::text) end from old) as "lastId"`,
)
