import type { Principal } from '../jobs/permissions.ts'
import type { RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'

/** How an identity is called: the journal keeps its id alone, and of API keys the database knows the name. */
export async function principalName({ id, kind, name }: Principal, context: RequestContext): Promise<string | null> {
  if (name !== null || kind !== 'SERVICE' || parseUuidOf('key', id) === null) return name
  return (await context.loaders.apiKeyNames.load(id))?.name ?? null
}
