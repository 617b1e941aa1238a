import type { ClientBase, DatabaseError } from 'pg'
import type { MigrationFile } from './migration-files.ts'
import { ledgerEntry } from './migration-ledger.ts'
import { statementLines } from './statement-lines.ts'

/** A migration could not be applied; nothing of it is left, and it can be run again after it is mended. */
export class MigrationFailed extends Error {
  override name = 'MigrationFailed'
}

const INDEX_BUILD =
  /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(?<index>\w+)\s+on\s+(?:(?<schema>\w+)\.)?\w+/i

/**
 * Applies one migration and writes it into the ledger, all in one transaction; a file that is one statement with
 * CONCURRENTLY in it, which PostgreSQL runs in no transaction, comes before its ledger row.
 */
export async function applyMigration(client: ClientBase, file: MigrationFile): Promise<void> {
  const bare = withoutComments(file.text)
  if (/\bconcurrently\b/i.test(bare) && statementLines(bare).length === 1) return applyAlone(client, file, bare)
  // A script without parameters is one simple query, and that is one transaction: the ledger's row belongs to it.
  await run(client, file, `${file.text}\n;${ledgerEntry(file)}`)
}

/**
 * An index build that broke off leaves an invalid index, which IF NOT EXISTS would take for the real one: it is dropped
 * before a build and after one that failed.
 */
async function applyAlone(client: ClientBase, file: MigrationFile, bare: string): Promise<void> {
  const build = INDEX_BUILD.exec(bare)?.groups
  const dropBroken = async () => build && dropInvalid(client, build.index as string, build.schema ?? 'public')
  await dropBroken()
  try {
    await run(client, file, file.text)
  } catch (error) {
    await dropBroken()
    throw error
  }
  await client.query(ledgerEntry(file))
}

async function dropInvalid(client: ClientBase, index: string, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>({
    text: `
select i.indexrelid::regclass::text as name
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
 where c.relname = lower($1) and n.nspname = lower($2) and not i.indisvalid`,
    values: [index, schema],
  })
  for (const { name } of rows) await client.query(`drop index concurrently ${name}`)
}

async function run(client: ClientBase, file: MigrationFile, script: string): Promise<void> {
  const { connection } = client as ClientBase & { connection: NodeJS.EventEmitter }
  let finished = 0
  const count = () => (finished += 1)
  connection.on('commandComplete', count)
  try {
    await client.query(script)
  } catch (error) {
    const told = failure(file, error as DatabaseError, finished)
    // Where the file itself says BEGIN, the failed transaction is still open.
    await client.query('rollback').catch(() => {})
    throw told
  } finally {
    connection.off('commandComplete', count)
  }
}

function failure(file: MigrationFile, error: DatabaseError, finished: number): MigrationFailed {
  const line = error.position
    ? [...file.text].slice(0, Number(error.position) - 1).filter((character) => character === '\n').length + 1
    : (statementLines(file.text)[finished] ?? 1)
  const more = [error.detail, error.hint, error.where].filter(Boolean).map((text) => `\n  ${text}`)
  return new MigrationFailed(
    `Migration ${file.name} failed at ${file.path}:${line}: ${error.message}${more.join('')}\n` +
      'Nothing of it was kept. Mend the cause and start again.',
    { cause: error },
  )
}

function withoutComments(script: string): string {
  return script.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
}
