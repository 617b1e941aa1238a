import { statement } from './statement.ts'

export const registerInstance = statement<
  [id: string, host: string, pid: number, version: string, dataDir: string | null],
  never
>(
  'register_instance',
  `-- one row a process start; its heartbeat keeps its claims alive
insert into mdm.aa_instance (id, host, pid, version, data_dir) values ($1::uuid, $2, $3, $4, $5)
on conflict (id) do update set heartbeat_at = now()`,
)
