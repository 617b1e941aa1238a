import { statement } from './statement.ts'

interface ReindexedBatch {
  /** Null: the type is gone, or has another version by now. */
  readonly taken: number | null
  readonly done: number
  readonly vectors: number
  /** Nothing lies behind the place reached. */
  readonly ended: boolean
}

/**
 * The next entities of a type, in order of their ids. Their rows are locked before they are read, so that an edit in between is neither lost nor
 * overwritten; the order keeps two of these from deadlocking. At most `limit` rows, and as many as bring 512 kB of attributes (as stored) together,
 * so that a batch of long texts stays short too. The place reached is written down in the same transaction.
 */
export const reindexBatch = statement<[jobId: string, tenantId: string, limit: number], ReindexedBatch>(
  'reindex_batch',
  `-- brings entities to a search version, along ddm_entity_of_type; what has the right vector already only gets the version, which touches no index
with run as materialized (select r.* from mdm.ddm_reindex_run r where r.job_id = $1::uuid),
config as materialized (
  select c.* from run cross join lateral mdm.search_config(run.entity_type_id) c where c.search_version = run.target_version),
place as materialized (select coalesce(after_id, '00000000-0000-0000-0000-000000000000') as id from run),
-- No transaction looks further than this: a last pass over a million entities that are all right would take seconds.
edge as materialized (
  select e.id from mdm.ddm_entity e
   where e.tenant_id = $2::uuid and e.entity_type_id = (select entity_type_id from run) and e.id > (select id from place)
   order by e.id offset 20 * $3::int limit 1),
near as materialized (
  select e.id, pg_column_size(e.attributes) as bytes
    from mdm.ddm_entity e
   where e.tenant_id = $2::uuid and e.entity_type_id = (select entity_type_id from run) and e.id > (select id from place)
     and e.id <= coalesce((select id from edge), 'ffffffff-ffff-ffff-ffff-ffffffffffff') and e.search_version < (select search_version from config)
   order by e.id limit $3),
stale as materialized (
  select s.id from (select n.id, n.bytes, sum(n.bytes) over (order by n.id) as upto from near n) s where s.upto - s.bytes < 512 * 1024),
batch as materialized (
  select e.id, e.attributes, e.search_vector
    from mdm.ddm_entity e
   where e.id in (select id from stale) and e.search_version < (select search_version from config)
   order by e.id
     for no key update),
fresh as materialized (
  select b.id, b.search_vector as old, mdm.entity_tsv(c.language, b.attributes, c.a, c.b, c.c, c.d) as new
    from batch b cross join config c),
written as (
  update mdm.ddm_entity e
     set search_version = (select search_version from config), search_vector = case when f.new is distinct from f.old then f.new else e.search_vector end
    from fresh f
   where e.id = f.id
  returning e.id),
figures as materialized (
  select (select count(*) from written) as taken, (select count(*) from fresh where new is distinct from old) as vectors,
         case when (select count(*) from near) = $3 or (select count(*) from near) > (select count(*) from stale) then (select id from stale order by id desc limit 1) else (select id from edge) end as last),
placed as (
  update mdm.ddm_reindex_run r
     set done = r.done + f.taken, vectors = r.vectors + f.vectors, after_id = coalesce(f.last, r.after_id)
    from figures f
   where r.job_id = $1
  returning r.done, r.vectors)
select case when exists (select from config) then f.taken::int end as taken, p.done::float8 as done, p.vectors::float8 as vectors, f.last is null as ended
  from figures f, placed p`,
)
