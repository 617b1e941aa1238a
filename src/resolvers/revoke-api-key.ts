import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { revokeApiKey as revoke } from '../sql/revoke-api-key.ts'
import { authorize, type RequestContext } from './context.ts'
import type { ApiKeyResult } from './create-api-key.ts'
import { parseUuidOf } from './node-id.ts'
import { badReason } from './reason.ts'

interface RevokeApiKeyInput {
  readonly id: string
  readonly reason?: string | null | undefined
}

/** Takes a key out of use for good: it is refused from now on, and its streams end within a second. */
export async function revokeApiKey({ id, reason }: RevokeApiKeyInput, context: RequestContext): Promise<ApiKeyResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const errors = badReason(reason)
  if (errors.length > 0) return { apiKey: null, secret: null, errors }
  const { pools, wakeup } = context.deps
  const uuid = parseUuidOf('key', id)
  const [apiKey] =
    uuid === null
      ? []
      : await revoke(
          pools.api,
          tenantPredicate(caller),
          uuid,
          actorOf(caller.principal),
          reason || null,
          context.requestId,
        )
  if (apiKey === undefined) {
    const message = 'There is no such key of your tenants.'
    return {
      apiKey: null,
      secret: null,
      errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id }],
    }
  }
  wakeup.signal('rights')
  wakeup.signal('journal')
  return { apiKey, secret: null, errors: [] }
}
