import { statement } from './statement.ts'

export const removeFormerInstances = statement<[host: string, dataDir: string, self: string], { id: string }>(
  'remove_former_instances',
  `-- forgets earlier starts on this host and data directory: who holds the directory now knows that they are gone
delete from mdm.aa_instance where host = $1 and data_dir = $2 and id <> $3::uuid
returning id`,
)
