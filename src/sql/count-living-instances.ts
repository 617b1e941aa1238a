import { statement } from './statement.ts'

export const countLivingInstances = statement<[deadAfterMs: number], { count: number }>(
  'count_living_instances',
  `-- how many instances share what is limited
select count(*)::int as count from mdm.aa_instance where heartbeat_at > clock_timestamp() - $1::float8 * interval '1 millisecond'`,
)
