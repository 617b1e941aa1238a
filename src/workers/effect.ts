import { StellwerkError } from '../jobs/errors.ts'
import type { Queryable } from '../sql/statement.ts'

/** A row that a run writes with its end: made by a function of `defineEffect`, returned in the handler's `effects`. */
export interface Effect {
  readonly writer: EffectWriter
  readonly row: Readonly<Record<string, unknown>>
}

interface EffectWriter {
  readonly name: string
  readonly sql: string
}

/** A row as it goes to the database, with the job it belongs to. */
export interface EffectRow {
  readonly writer: EffectWriter
  readonly text: string
}

/**
 * Declares a sort of rows that runs write with their ends. `sql` gets the rows of all jobs that end together as `$1`, a JSON array of
 * objects: what the handler gave, and `job_id` and `tenant_id`. It commits with `done` or not at all, like `commit(tx)`, but ends
 * that gather share one statement and one commit. A row that the database refuses is the failure of its own job alone.
 * Throws BAD_EFFECT where name or SQL is missing.
 */
export function defineEffect<Row extends object>({ name, sql }: EffectWriter): (row: Row) => Effect {
  const problems = [
    ...(/^[a-z][a-z0-9_]{0,62}$/.test(name) ? [] : ['its name must be of a-z, 0-9 and _, 63 at most']),
    ...(typeof sql === 'string' && sql.includes('$1') ? [] : ['its sql must read the rows from $1, a JSON array']),
  ]
  if (problems.length > 0) throw new StellwerkError('BAD_EFFECT', `The effect ${name}: ${problems.join(', ')}.`)
  const writer = { name, sql }
  return (row) => ({ writer, row: row as Readonly<Record<string, unknown>> })
}

/** Throws where a row is no JSON. */
export function effectRows(
  effects: readonly Effect[],
  job: { readonly id: string; readonly tenantId: string },
): EffectRow[] {
  return effects.map(({ writer, row }) => ({
    writer,
    text: JSON.stringify({ ...row, job_id: job.id, tenant_id: job.tenantId }),
  }))
}

/** One statement for all rows of a sort. */
export async function writeEffects(tx: Queryable, rows: readonly EffectRow[]): Promise<void> {
  for (const [{ sql }, group] of Map.groupBy(rows, ({ writer }) => writer))
    await tx.query({ text: sql, values: [`[${group.map(({ text }) => text).join(',')}]`] })
}
