import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose'
import type { Config } from '../config.ts'
import { StellwerkError } from '../jobs/errors.ts'
import { scopes, type Caller, type Scope } from '../jobs/permissions.ts'
import type { NamedTenants } from '../resolvers/find-tenant-ids.ts'
import { AuthError, tenantsClosed } from './auth.ts'

interface JwtDeps {
  readonly auth: Config['auth']
  /** The tenants by key or id; unknown names are left out. */
  readonly findTenantIds: (names: readonly string[]) => Promise<NamedTenants>
}

/** Clocks of issuers differ from ours by no more than this. */
const leewaySeconds = 60
const secretAlgorithms = ['HS256']
const keySetAlgorithms = ['RS256', 'ES256', 'EdDSA']
const mostTenantNames = 1_000

/**
 * Verifies JWTs: the key's algorithms, the audience and (where one is set) the issuer are pinned, `exp` is required.
 * Throws AuthError, or SERVICE_UNAVAILABLE where the key set cannot be fetched.
 */
export function createVerifyJwt({ auth, findTenantIds }: JwtDeps): (token: string) => Promise<Caller> {
  const secret = auth.jwtSecret === null ? null : new TextEncoder().encode(auth.jwtSecret)
  const keySet = auth.jwksUrl === null ? null : createRemoteJWKSet(new URL(auth.jwksUrl), { timeoutDuration: 3_000 })
  const rules = {
    audience: auth.audience,
    ...(auth.issuer === null ? {} : { issuer: auth.issuer }),
    clockTolerance: leewaySeconds,
    requiredClaims: ['exp', 'sub'],
  }

  const verify = async (token: string): Promise<JWTPayload> => {
    const algorithm = algorithmOf(token)
    if (secret !== null && secretAlgorithms.includes(algorithm)) {
      return (await jwtVerify(token, secret, { ...rules, algorithms: secretAlgorithms })).payload
    }
    if (keySet !== null && keySetAlgorithms.includes(algorithm)) {
      return (await jwtVerify(token, keySet satisfies JWTVerifyGetKey, { ...rules, algorithms: keySetAlgorithms }))
        .payload
    }
    throw new AuthError('UNAUTHENTICATED', 'The token is signed in a way that is not accepted here.')
  }

  return async (token) => {
    const claims = await verify(token).catch((error: unknown) => {
      throw asAuthError(error)
    })
    if (typeof claims.sub !== 'string' || claims.sub === '' || claims.sub.length > 255)
      throw badClaim('sub', 'a name of 1 to 255 characters')
    return {
      principal: {
        id: claims.sub,
        name: typeof claims['name'] === 'string' ? claims['name'].slice(0, 200) : null,
        kind: kindOf(claims['kind']),
      },
      scopes: scopesOf(claims['scope']),
      tenantIds: await tenantsOf(claims['tenants'], findTenantIds),
      expiresAt: honouredUntil(claims.exp! * 1000),
    }
  }
}

/** `exp`; for a token that came in the leeway after it, the end of the leeway. */
function honouredUntil(expiresAtMs: number): Date {
  return new Date(expiresAtMs > Date.now() ? expiresAtMs : expiresAtMs + leewaySeconds * 1000)
}

function algorithmOf(token: string): string {
  try {
    return decodeProtectedHeader(token).alg ?? ''
  } catch (cause) {
    throw new AuthError('UNAUTHENTICATED', 'The token is neither an API key nor a JWT.', { cause })
  }
}

function kindOf(claim: unknown): 'USER' | 'SERVICE' {
  if (claim === undefined || claim === 'user') return 'USER'
  if (claim === 'service') return 'SERVICE'
  throw badClaim('kind', '`user` or `service`')
}

function scopesOf(claim: unknown): ReadonlySet<Scope> {
  if (claim === undefined) return new Set()
  if (typeof claim !== 'string') throw badClaim('scope', 'a text of names with spaces between')
  const named = new Set(claim.toUpperCase().split(/\s+/))
  return new Set(scopes.filter((scope) => named.has(scope)))
}

async function tenantsOf(claim: unknown, find: JwtDeps['findTenantIds']): Promise<Caller['tenantIds']> {
  if (claim === '*') return 'all'
  if (claim === undefined) return new Set()
  const isList =
    Array.isArray(claim) && claim.length <= mostTenantNames && claim.every((name) => typeof name === 'string')
  if (!isList) throw badClaim('tenants', `a list of at most ${mostTenantNames} tenant keys or ids, or "*"`)
  const { open, closed } = await find(claim.filter((name) => !name.includes('\0')))
  if (open.size === 0 && closed.size > 0) throw tenantsClosed()
  return open
}

const badClaim = (name: string, expected: string): AuthError =>
  new AuthError('UNAUTHENTICATED', `The token's claim \`${name}\` is not ${expected}.`)

function asAuthError(error: unknown): Error {
  if (error instanceof StellwerkError) return error
  if (error instanceof errors.JWTExpired)
    return new AuthError('TOKEN_EXPIRED', 'The token has expired. Get a new one.', { cause: error })
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new AuthError(
      'UNAUTHENTICATED',
      `The token's claim \`${error.claim}\` is missing or not as it must be here.`,
      { cause: error },
    )
  }
  if (isRefusal(error))
    return new AuthError('UNAUTHENTICATED', "The token's signature is not valid here.", { cause: error })
  // The key set could not be fetched: that says nothing about the token.
  return new StellwerkError(
    'SERVICE_UNAVAILABLE',
    'The keys that tokens are checked with cannot be fetched at the moment. Try again shortly.',
    {
      cause: error,
    },
  )
}

function isRefusal(error: unknown): boolean {
  const isAboutKeySet = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid
  // jose reports an answer other than 200 with its bare base class.
  return error instanceof errors.JOSEError && error.constructor !== errors.JOSEError && !isAboutKeySet
}
