import type { Queryable } from '../../sql/statement.ts'
import type { JobTransaction } from '../handler.ts'

/** A handler's transaction as the statements of src/sql take it. */
export function statementsIn(tx: JobTransaction): Queryable {
  return { query: ({ text, values }) => tx.query(text, values) }
}
