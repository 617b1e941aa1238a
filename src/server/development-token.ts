import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { scopes } from '../jobs/permissions.ts'
import { mintApiKey } from '../resolvers/mint-api-key.ts'
import { findApiKey } from '../resolvers/find-api-key.ts'

type Database = Parameters<typeof mintApiKey>[0]

/**
 * The development token in `<dataDir>/admin.token`: an API key without expiry, for every scope and tenant.
 * The one on disk is kept while the database knows it; else a new one is made. Answers the token and where it lies.
 */
export async function ensureDevelopmentToken(dataDir: string, db: Database): Promise<{ token: string; path: string }> {
  const path = join(dataDir, 'admin.token')
  const kept = await readSecret(path)
  if (kept !== null && (await isForEverything(db, kept))) return { token: kept, path }
  const { key } = await mintApiKey(db, {
    name: 'development token',
    scopes,
    tenantIds: null,
    expiresAt: null,
    createdBy: 'system:start',
  })
  await writeSecret(path, key)
  return { token: key, path }
}

async function isForEverything(db: Database, token: string): Promise<boolean> {
  const answer = await findApiKey(db, token)
  // A token of an older version may lack a scope that came later.
  return answer.state === 'valid' && scopes.every((scope) => answer.caller.scopes.has(scope))
}

/** The secret in `<dataDir>/jwt.secret` that tokens of development are signed with; made when it is not there. */
export async function ensureJwtSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, 'jwt.secret')
  const kept = await readSecret(path)
  if (kept !== null && kept.length >= 32) return kept
  const secret = randomBytes(32).toString('hex')
  await writeSecret(path, secret)
  return secret
}

/** The key in `<dataDir>/secret.key` that encrypts stored secrets in development; made when it is not there. */
export async function ensureSecretKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret.key')
  const kept = await readSecret(path)
  if (kept !== null && kept.length >= 32) return kept
  const key = randomBytes(32).toString('hex')
  await writeSecret(path, key)
  return key
}

async function readSecret(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Put in place by a rename: a start that is killed half way leaves the old file or the new one, never half of one. */
async function writeSecret(path: string, secret: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  const unfinished = `${path}.${process.pid}.new`
  await writeFile(unfinished, `${secret}\n`, { mode: 0o600 })
  await rename(unfinished, path)
}
