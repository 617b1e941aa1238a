import { randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { MigrationFile } from './migration-files.ts'

/** A migration that the database knows; `finishedAt` is null when Prisma's own tools began it and never ended. */
export interface LedgerRow {
  readonly name: string
  readonly checksum: string
  readonly finishedAt: Date | null
}

/** Makes Prisma's ledger where it is missing, as Prisma itself makes it. */
export async function ensureLedger(client: ClientBase): Promise<void> {
  await client.query(`
create table if not exists public._prisma_migrations (
  id                  varchar(36) primary key not null,
  checksum            varchar(64) not null,
  finished_at         timestamptz,
  migration_name      varchar(255) not null,
  logs                text,
  rolled_back_at      timestamptz,
  started_at          timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`)
}

/** What the database has applied, by name; empty where there is no ledger. */
export async function readLedger(client: ClientBase): Promise<Map<string, LedgerRow>> {
  const { rows: found } = await client.query(`select to_regclass('public._prisma_migrations') is not null as there`)
  if (!found[0].there) return new Map()
  const { rows } = await client.query<LedgerRow>(`
select migration_name as name, checksum, finished_at as "finishedAt"
  from public._prisma_migrations
 where rolled_back_at is null
 order by started_at`)
  return new Map(rows.map((row) => [row.name, row]))
}

/** The statement that writes a migration into the ledger, without parameters so that it can ride in a script. */
export function ledgerEntry({ name, checksum }: MigrationFile): string {
  return `insert into public._prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
values ('${randomUUID()}', '${checksum}', clock_timestamp(), '${name}', now(), 1);`
}
