import { hash } from 'node:crypto'
import { DatabaseUnavailable, StellwerkError } from '../jobs/errors.ts'
import type { Caller } from '../jobs/permissions.ts'
import { apiKeyPrefix, type ApiKeyAnswer } from '../resolvers/find-api-key.ts'
import type { RightsWatch } from '../resolvers/rights-watch.ts'

/** The token is no good; `code` is UNAUTHENTICATED or TOKEN_EXPIRED, or FORBIDDEN where its tenants are closed. */
export class AuthError extends StellwerkError {
  constructor(code: 'UNAUTHENTICATED' | 'TOKEN_EXPIRED' | 'FORBIDDEN', message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}

/**
 * Who a value of the `authorization` header speaks for; null where there is none.
 * Throws AuthError, or DatabaseUnavailable where that could not be found out.
 */
export interface Authenticate {
  (authorization: string | null | undefined): Promise<Caller | null>
  /** Tells when it is worth asking again for those whose streams last, and which tenants were closed. Missing: nobody tells. */
  readonly onRightsChanged?: RightsWatch['on']
}

interface AuthDeps {
  readonly findApiKey: (key: string) => Promise<ApiKeyAnswer>
  readonly verifyJwt: (token: string) => Promise<Caller>
  /** Without it a change is found out when it is asked for. */
  readonly rights?: RightsWatch
}

/** All tenants of a token are closed: what it may do, it may do nowhere. */
export const tenantsClosed = (): AuthError =>
  new AuthError('FORBIDDEN', 'Every tenant of this token is closed. An operator opens one again by `setTenantActive`.')

const callersLastMs = 1_000
const mostCallers = 10_000
const longestToken = 16_384
/** A database that hangs must not hang its callers. */
const answerWithinMs = 4_000

/** Answers are kept for a second: a revoked key is refused that soon, and a busy caller costs one look-up a second. */
export function createAuthenticate({ findApiKey, verifyJwt, rights }: AuthDeps): Authenticate {
  const known = new Map<string, { readonly caller: Promise<Caller>; readonly until: number }>()

  const identify = async (token: string): Promise<Caller> =>
    token.startsWith(apiKeyPrefix) ? callerOfKey(await findApiKey(token)) : verifyJwt(token)

  // Heard before those who then ask again.
  rights?.on(() => known.clear())

  const authenticate = async (authorization: string | null | undefined): Promise<Caller | null> => {
    if (authorization == null || authorization === '') return null
    const token = bearerToken(authorization)
    const name = hash('sha256', token, 'base64')
    const kept = known.get(name)
    if (kept !== undefined && kept.until > performance.now()) return kept.caller

    const caller = inTime(identify(token))
    // A refusal is not kept: a key that was just made must be good at once.
    caller.catch(() => known.get(name)?.caller === caller && known.delete(name))
    if (known.size >= mostCallers) known.delete(known.keys().next().value!)
    known.delete(name)
    known.set(name, { caller, until: performance.now() + callersLastMs })
    return caller
  }
  return rights === undefined ? authenticate : Object.assign(authenticate, { onRightsChanged: rights.on })
}

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new DatabaseUnavailable()), answerWithinMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function bearerToken(authorization: string): string {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization.trim()) ?? []
  if (token === undefined || token.length > longestToken) {
    throw new AuthError(
      'UNAUTHENTICATED',
      'The authorization is not of the form `Bearer <token>`. Send an API key or a JWT that way.',
    )
  }
  return token
}

function callerOfKey(answer: ApiKeyAnswer): Caller {
  switch (answer.state) {
    case 'valid':
      return answer.caller
    case 'expired':
      throw new AuthError('TOKEN_EXPIRED', 'The API key has expired. Use a newer one.')
    case 'closed':
      throw tenantsClosed()
    case 'revoked':
    case 'unknown':
      throw new AuthError('UNAUTHENTICATED', 'The API key is not known, or was revoked. Use another one.')
  }
}
