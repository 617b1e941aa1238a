import { inTransaction } from '../db/transaction.ts'
import { badText } from '../jobs/payload.ts'
import { actorOf } from '../jobs/permissions.ts'
import { outsideLength, ranges } from '../jobs/ranges.ts'
import type { EntityTypeRow } from '../sql/entity-type-row.ts'
import { findJobsOfTypeChange } from '../sql/find-jobs-of-type-change.ts'
import type { JobRow } from '../sql/job-row.ts'
import { journalTypeChange } from '../sql/journal-type-change.ts'
import { nameWriter } from '../sql/name-writer.ts'
import { setEntityAttributes, type EntityAttributeGiven } from '../sql/set-entity-attributes.ts'
import { setEntityType as set } from '../sql/set-entity-type.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

export interface EntityAttributeInput {
  readonly key: string
  readonly dataType: 'text' | 'number' | 'date' | 'timestamp' | 'boolean'
  readonly required: boolean
  readonly searchable: boolean
  readonly sortable: boolean
  readonly searchWeight: string
}

interface EntityTypeInput {
  readonly tenantId?: string | null | undefined
  readonly key: string
  readonly name: string
  readonly language: string
  readonly externalSourceTarget: boolean
  readonly attributes?: readonly EntityAttributeInput[] | null | undefined
}

export interface EntityTypeResult {
  readonly entityType: EntityTypeRow | null
  readonly jobs: readonly JobRow[]
  readonly errors: readonly UserError[]
}

const mostAttributes = 200
const typeKey = { maxLength: 200 }
/** As the table has it: a key that is harmless in names and texts of every kind. */
const attributeKey = /^[A-Za-z][A-Za-z0-9_.-]{0,62}$/
const languages = ['german', 'english', 'simple']

/** Creates a type or changes it; attributes that are not named stay. What its flags ask for is enqueued in the same transaction, by triggers. */
export async function setEntityType(input: EntityTypeInput, context: RequestContext): Promise<EntityTypeResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const tenant = await chooseTenant(context, caller, input.tenantId ?? null, ['tenantId'])
  const errors = [...(tenant.ok ? [] : [tenant.error]), ...badType(input), ...badAttributes(input.attributes ?? [])]
  if (!tenant.ok || errors.length > 0) return { entityType: null, jobs: [], errors }
  const { pools, wakeup } = context.deps
  const given = (input.attributes ?? []).map(columnsOf)
  const actor = actorOf(caller.principal)
  const { key, name, language, externalSourceTarget } = input
  const result = await inTransaction(pools.api, async (tx) => {
    await nameWriter(tx, actor, context.requestId, null)
    const [type] = await set(tx, tenant.tenantId, key, name, language, externalSourceTarget)
    if (given.length > 0) await setEntityAttributes(tx, type!.id, JSON.stringify(given))
    const changed = JSON.stringify({ name, language, external_source_target: externalSourceTarget, attributes: given })
    await journalTypeChange(tx, type!.id, actor, context.requestId, null, changed)
    return { id: type!.id, jobs: await findJobsOfTypeChange(tx, type!.id) }
  })
  if (result.jobs.length > 0) wakeup.signal('work')
  wakeup.signal('journal')
  return { entityType: await context.loaders.entityTypes.load(result.id), jobs: result.jobs, errors: [] }
}

function badType({ key, name, language }: EntityTypeInput): UserError[] {
  const problems: UserError[] = []
  const keyProblem = outsideLength('key', key, typeKey) ?? unstorable('key', key)
  if (keyProblem !== null) problems.push(invalid(['key'], keyProblem))
  else if (/\p{Cc}/u.test(key) || key !== key.trim())
    problems.push(invalid(['key'], 'key must not hold control characters, nor begin or end with blanks.'))
  const nameProblem = outsideLength('name', name, ranges.tenantName) ?? unstorable('name', name)
  if (nameProblem !== null) problems.push(invalid(['name'], nameProblem))
  if (!languages.includes(language))
    problems.push(invalid(['language'], `language must be one of ${languages.join(', ')}.`))
  return problems
}

function badAttributes(attributes: readonly EntityAttributeInput[]): UserError[] {
  if (attributes.length > mostAttributes)
    return [invalid(['attributes'], `At most ${mostAttributes} attributes can be set at once.`)]
  const seen = new Set<string>()
  return attributes.flatMap(({ key, searchWeight }, index) => {
    const problems: UserError[] = []
    const at = (field: string, message: string): void =>
      void problems.push(invalid(['attributes', String(index), field], message))
    if (!attributeKey.test(key))
      at('key', 'key must begin with a letter and hold only letters, digits, _, . and -, at most 63 characters.')
    else if (seen.has(key)) at('key', 'key stands twice in the list.')
    seen.add(key)
    if (!/^[A-D]$/.test(searchWeight)) at('searchWeight', 'searchWeight must be A, B, C or D.')
    return problems
  })
}

function columnsOf({
  key,
  dataType,
  required,
  searchable,
  sortable,
  searchWeight,
}: EntityAttributeInput): EntityAttributeGiven {
  return { attr_key: key, data_type: dataType, required, searchable, sortable, search_weight: searchWeight }
}

function unstorable(what: string, text: string): string | null {
  const problem = badText(text)
  return problem === null ? null : `${what} ${problem}`
}
