import { badText } from '../jobs/payload.ts'
import { actorOf } from '../jobs/permissions.ts'
import { isPattern } from '../sql/is-pattern.ts'
import { readTaxonomyTerms } from '../sql/read-taxonomy-terms.ts'
import { setTaxonomyTerm as set } from '../sql/set-taxonomy-term.ts'
import type { TaxonomyMatch } from '../sql/taxonomy-rule-row.ts'
import type { TaxonomyTermRow } from '../sql/taxonomy-term-row.ts'
import { boundedRead } from './bounded-read.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface SetTaxonomyTermInput {
  readonly tenantId?: string | null | undefined
  readonly path: string
  readonly name: string
  readonly rules: readonly Rule[]
}

interface Rule {
  readonly match: TaxonomyMatch
  readonly pattern: string
  readonly enabled: boolean
}

export interface TaxonomyTermResult {
  readonly term: TaxonomyTermRow | null
  readonly errors: readonly UserError[]
}

const longest = { path: 500, name: 200, pattern: 1_000 }
const mostRules = 100

/** Makes a term or changes it, by path. Documents get their terms when they are read: this one reaches those read from now on. */
export async function setTaxonomyTerm(
  { tenantId = null, path, name, rules }: SetTaxonomyTermInput,
  context: RequestContext,
): Promise<TaxonomyTermResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const tenant = await chooseTenant(context, caller, tenantId, ['tenantId'])
  const errors = [
    ...(tenant.ok ? [] : [tenant.error]),
    ...badLength('path', path),
    ...badLength('name', name),
    ...(path.split('/').every((step) => step !== '' && step === step.trim())
      ? []
      : [invalid(['path'], 'path must be of the form finance/invoice: names with / between them.')]),
    ...(await badRules(rules, context)),
  ]
  if (errors.length > 0 || !tenant.ok) return { term: null, errors }
  const { pools, wakeup } = context.deps
  const given = JSON.stringify(rules)
  const [stored] = await set(
    pools.api,
    tenant.tenantId,
    path,
    name,
    given,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('journal')
  const [term] = await readTaxonomyTerms(pools.api, [stored!.id], [tenant.tenantId])
  return { term: term!, errors: [] }
}

function badLength(field: 'path' | 'name', value: string): UserError[] {
  if (value.trim() === '') return [invalid([field], `${field} must not be empty.`)]
  if ([...value].length > longest[field])
    return [invalid([field], `${field} must have at most ${longest[field]} characters.`)]
  const problem = badText(value)
  return problem === null ? [] : [invalid([field], `${field} ${problem}`)]
}

async function badRules(rules: readonly Rule[], context: RequestContext): Promise<UserError[]> {
  if (rules.length > mostRules) return [invalid(['rules'], `A term has at most ${mostRules} rules.`)]
  const found: UserError[] = []
  for (const [index, rule] of rules.entries()) {
    const message = await badPattern(rule, context)
    if (message !== null) found.push(invalid(['rules', String(index), 'pattern'], message))
  }
  return found
}

async function badPattern({ match, pattern }: Rule, { deps }: RequestContext): Promise<string | null> {
  if (pattern.trim() === '') return 'pattern must not be empty.'
  if ([...pattern].length > longest.pattern) return `pattern must have at most ${longest.pattern} characters.`
  const problem = badText(pattern)
  if (problem !== null) return `pattern ${problem}`
  if (match !== 'regex') return null
  const [answer] = await boundedRead(deps.pools.api, (db) => isPattern(db, pattern))
  return answer!.valid
    ? null
    : 'pattern is no regular expression of PostgreSQL. Look for a bracket or a backslash too many.'
}
