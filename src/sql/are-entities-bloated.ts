import { statement } from './statement.ts'

export const areEntitiesBloated = statement<[], { bloated: boolean }>(
  'are_entities_bloated',
  `-- whether vacuum is behind with the entities: a fifth of the rows and 10,000 at least are dead
select coalesce((select s.n_dead_tup > greatest(10000, s.n_live_tup / 5) from pg_stat_all_tables s where s.relid = 'mdm.ddm_entity'::regclass), false) as bloated`,
)
