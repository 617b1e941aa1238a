import type { Queryable } from '../sql/statement.ts'

/** For the rest of the transaction: statements go along indexes. Planned while a table was small, they would go on to read all of it. */
export async function alongIndexes(tx: Queryable): Promise<void> {
  await tx.query({ text: 'set local enable_seqscan = off; set local enable_bitmapscan = off; set local jit = off' })
}
