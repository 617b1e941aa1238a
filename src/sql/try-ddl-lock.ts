import { statement } from './statement.ts'

/** Held by the session that runs the DDL: as long as it lives, nobody else builds on this table. A lock that waits would be what the build waits for. */
export const tryDdlLock = statement<[table: string], { taken: boolean }>(
  'try_ddl_lock',
  `-- takes the one right to change indexes of a table, until the session ends
select pg_try_advisory_lock(hashtextextended('ddl:' || $1::text, 0)) as taken`,
)
