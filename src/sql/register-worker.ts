import { statement } from './statement.ts'

export const registerWorker = statement<
  [
    instanceId: string,
    name: string,
    pool: string,
    slots: number,
    kinds: readonly string[] | null,
    tenants: readonly string[] | null,
    dispatch: string,
  ],
  { id: number }
>(
  'register_worker',
  `-- one row a pool and process start; the journal names the worker by its id
insert into mdm.aa_worker (instance_id, name, pool, slots, kinds, tenants, dispatch)
values ($1::uuid, $2, $3, $4, $5::text[], $6::text[], $7)
on conflict (name) do update set instance_id = excluded.instance_id
returning id`,
)
