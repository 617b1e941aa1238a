import { hasApiKey as ask } from '../sql/has-api-key.ts'
import type { Queryable } from '../sql/statement.ts'

/** Whether anybody could sign in with a key now. */
export async function hasApiKey(db: Queryable): Promise<boolean> {
  const [row] = await ask(db)
  return row!.there
}
