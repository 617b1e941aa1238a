import type { Config } from '../config.ts'

/** A sentence when nobody could sign in to a production instance, so that it must not start; else null. */
export async function checkProductionAuth(
  { env, auth }: Pick<Config, 'env' | 'auth'>,
  hasApiKey: () => Promise<boolean>,
): Promise<string | null> {
  if (env !== 'production' || auth.jwtSecret !== null || auth.jwksUrl !== null) return null
  if (await hasApiKey()) return null
  return (
    'Nobody could sign in: in production Stellwerk generates no secret and no token. Set STELLWERK_JWT_SECRET or STELLWERK_JWKS_URL, ' +
    'or make an API key in the database first, by `stellwerk key create`; for a machine of your own, STELLWERK_ENV=development.'
  )
}
