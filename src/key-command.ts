import { parseArgs } from 'node:util'
import { createPools } from './db/pool.ts'
import { StartError } from './jobs/errors.ts'
import { meantName } from './jobs/nearest-name.ts'
import { badText } from './jobs/payload.ts'
import { scopes, type Scope } from './jobs/permissions.ts'
import { outsideLength, ranges } from './jobs/ranges.ts'
import { mintApiKey } from './resolvers/mint-api-key.ts'
import { createTenantKeys } from './resolvers/tenant-keys.ts'

export const keyUsage = `stellwerk key create --name <name> --scopes <scopes> --tenants <tenants> [--expires <time>]

  --name      what the key is for
  --scopes    names with commas between: ${scopes.join(', ').toLowerCase()}; or all
  --tenants   keys or ids with commas between; or all
  --expires   an instant such as 2030-01-01T00:00:00Z; without it the key is good until it is revoked

Makes an API key in the database of DATABASE_URL (without it: in the embedded one) and prints it, this once: the database keeps its hash.
`

/** A key to be made, as the command line asks for it. */
export interface KeyOrder {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Keys or ids; null: every tenant. */
  readonly tenants: readonly string[] | null
  readonly expiresAt: Date | null
}

/** Reads the command line behind `key`; null where help is asked for. Throws StartError with every mistake at once. */
export function readKeyOrder(args: readonly string[]): KeyOrder | null {
  const given = parse(args)
  if (given.help === true) return null
  const problems: string[] = []
  const need = (option: 'name' | 'scopes' | 'tenants', example: string): string => {
    const value = given[option]?.trim() ?? ''
    if (value === '') problems.push(`--${option} is missing, e.g. --${option} ${example}.`)
    return value
  }
  const name = need('name', 'billing')
  const unfit =
    name === ''
      ? null
      : (outsideLength('--name', name, ranges.apiKeyName) ?? (badText(name) && `--name ${badText(name)}`))
  if (unfit !== null) problems.push(unfit)
  const named = listOf(need('scopes', 'read_jobs,enqueue_jobs'))
  const held = named.join() === 'all' ? scopes : scopes.filter((scope) => named.includes(scope.toLowerCase()))
  const unknown =
    held === scopes ? [] : named.filter((each) => !(scopes as readonly string[]).includes(each.toUpperCase()))
  for (const each of unknown) {
    const meant = meantName(each, scopes)?.toLowerCase()
    const hint = meant === undefined ? `These are ${scopes.join(', ').toLowerCase()}.` : `Did you mean ${meant}?`
    problems.push(`There is no scope ${each}. ${hint}`)
  }
  const tenants = listOf(need('tenants', 'default'))
  const expiresAt = given.expires === undefined ? null : new Date(given.expires)
  if (expiresAt !== null && !(expiresAt.getTime() > Date.now()))
    problems.push('--expires is not an instant in the future, such as 2030-01-01T00:00:00Z.')
  if (problems.length > 0) throw new StartError(`${problems.join('\n')}\n\n${keyUsage.trimEnd()}`)
  return { name, scopes: held, tenants: tenants.join() === 'all' ? null : tenants, expiresAt }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { name: text, scopes: text, tenants: text, expires: text, help: { type: 'boolean' } },
    })
    if (positionals.join(' ') !== 'create')
      return { help: positionals.length === 0 || fail(`There is no command key ${positionals.join(' ')}.`) }
    return values
  } catch (error) {
    return fail((error as Error).message)
  }
}

const fail = (message: string): never => {
  throw new StartError(`${message}\n\n${keyUsage.trimEnd()}`)
}

const listOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((each) => each.toLowerCase())

/** Makes the key, and answers it. Throws StartError for a tenant that does not exist. */
export async function makeKey(url: string, { tenants, ...order }: KeyOrder): Promise<string> {
  const pools = createPools(url, { onError: () => undefined })
  try {
    const tenantKeys = createTenantKeys(pools.api)
    const found = await Promise.all((tenants ?? []).map((each) => tenantKeys.find(each)))
    const missing = (tenants ?? []).filter((_, index) => found[index] === null)
    if (missing.length > 0) throw new StartError(`There is no tenant ${missing.join(', ')}. Nothing was made.`)
    const tenantIds = tenants === null ? null : [...new Set(found.map((tenant) => tenant!.id))]
    const { key } = await mintApiKey(pools.api, { ...order, tenantIds, createdBy: 'system:cli' })
    return key
  } finally {
    await pools.end()
  }
}
