import { badText, encodePayload } from '../jobs/payload.ts'
import { tenantPredicate } from '../jobs/permissions.ts'
import { checkAttributeValues } from '../sql/check-attribute-values.ts'
import {
  attributeConditions,
  countEntities,
  listEntities as read,
  type EntityCondition,
  type EntityPlace,
  type EntityQuery,
  type PlacedEntity,
} from '../sql/entity-query.ts'
import type { EntityRow } from '../sql/entity-type-row.ts'
import { readEntities } from '../sql/read-entities.ts'
import { readEntityPlan, type EntityPlan, type PlannedAttribute } from '../sql/read-entity-plan.ts'
import type { Queryable } from '../sql/statement.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { entityTypeIdOf } from './find-entity-type.ts'
import type { Count } from './list-jobs.ts'
import { pageOf, planPage, type Page } from './page.ts'

/** The input `AttributeFilter`. */
export interface AttributeFilterInput {
  readonly key: string
  readonly eq?: unknown
  readonly gte?: unknown
  readonly lt?: unknown
  readonly contains?: string | null | undefined
}

interface EntitiesInput {
  readonly typeId: string
  readonly filter?:
    | {
        readonly search?: string | null | undefined
        readonly attributes?: readonly AttributeFilterInput[] | null | undefined
        readonly matches?: unknown
      }
    | null
    | undefined
  readonly orderBy?: { readonly key: string; readonly direction: 'ASC' | 'DESC' } | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

export interface EntityPage extends Page<EntityRow> {
  /** How many match, counted up to `atMost`. */
  readonly count: (atMost: number) => Promise<Count>
}

const mostCounted = 100_000
const mostFilters = 20
const longestText = 1_000
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Entities of one type, in pages; filters and orders go along the indexes that their attributes' flags made. */
export async function listEntities(
  { typeId, filter, orderBy, ...page }: EntitiesInput,
  context: RequestContext,
): Promise<EntityPage> {
  const caller = authorize(context, [['READ_PAYLOADS']])
  const pagePlan = planPage(page)
  const { pools } = context.deps
  const id = await entityTypeIdOf(typeId, context)
  const [plan] = id === null ? [] : await readEntityPlan(pools.api, id, tenantPredicate(caller))
  if (plan === undefined)
    throw refused('There is no such entity type among your tenants, or its key stands for several.')
  const conditions = await conditionsOf(plan, filter ?? {}, pools.api)
  const order = orderBy == null ? null : orderOf(plan, orderBy)
  const cursorName = `entities ${plan.id} ${orderBy == null ? '' : `${orderBy.key} ${orderBy.direction}`}`
  const after = pagePlan.cursor === null ? null : placeOf(cursorName, pagePlan.cursor, order)
  await checkPlace(pools.api, order, after)
  const query: EntityQuery = { plan, conditions, order, after, limit: pagePlan.size + 1 }
  const rows = await bounded(context, (db) => read(db, query))
  return {
    ...pageOf<PlacedEntity>(pagePlan, rows, ({ id: entity, sortValue }) => cursorOf(cursorName, sortValue, entity)),
    count: (atMost) => count(query, atMost, context),
  }
}

/** One entity by its uuid; null: none of the caller's. */
export async function findEntity(id: string, context: RequestContext): Promise<EntityRow | null> {
  const caller = authorize(context, [['READ_PAYLOADS']])
  return (await readEntities(context.deps.pools.api, [id], tenantPredicate(caller)))[0] ?? null
}

async function conditionsOf(
  plan: EntityPlan,
  { search, attributes, matches }: NonNullable<EntitiesInput['filter']>,
  db: Queryable,
): Promise<EntityCondition[]> {
  const conditions: EntityCondition[] = []
  if (search != null && search.trim() !== '') {
    const words = textOf('search', search)
    conditions.push({
      values: [words],
      sql: (param) => `e.search_vector @@ websearch_to_tsquery(${plan.configLiteral}, ${param}::text)`,
    })
  }
  conditions.push(...(await attributeFilters(plan, attributes ?? [], db)))
  if (matches != null) {
    if (!plan.externalSourceTarget || plan.ginIndexStatus !== 'active')
      throw refused(
        `\`matches\` needs a type that is an external source target and whose index is ACTIVE; that of ${plan.key} is ${plan.ginIndexStatus.toUpperCase()}.`,
      )
    const encoded = encodePayload(matches)
    if (!encoded.ok) throw refused(`\`matches\`${encoded.problem.pointer}: ${encoded.problem.message}`)
    conditions.push({ values: [encoded.text], sql: (param) => `e.attributes @> ${param}::jsonb` })
  }
  return conditions
}

async function attributeFilters(
  plan: EntityPlan,
  filters: readonly AttributeFilterInput[],
  db: Queryable,
): Promise<EntityCondition[]> {
  if (filters.length > mostFilters) throw refused(`At most ${mostFilters} attributes can be filtered by at once.`)
  const wanted = filters.map((filter) => {
    const attribute = attributeOf(plan, filter.key, 'searchable')
    const values = {
      ...valueOf(attribute, 'eq', filter.eq),
      ...valueOf(attribute, 'gte', filter.gte),
      ...valueOf(attribute, 'lt', filter.lt),
    }
    const contains = containedOf(attribute, filter.contains ?? null)
    if (Object.keys(values).length === 0 && contains === null)
      throw refused(`The filter for ${filter.key} says nothing: give eq, gte, lt or contains.`)
    if ((values.gte ?? values.lt) !== undefined && attribute.dataType === 'text' && !attribute.sortable)
      throw refused(`gte and lt of the text ${filter.key} need it to be sortable: only then is its index in order.`)
    return { attribute, values, contains }
  })
  await checkValues(db, wanted)
  return wanted.flatMap(({ attribute, values, contains }) =>
    attributeConditions(attribute, { ...values, ...(contains !== null && { contains }) }),
  )
}

interface GivenValues {
  eq?: string
  gte?: string
  lt?: string
}

/** A JSON value as the text that stands for it in \`attributes ->> key\`. */
function valueOf({ key, dataType }: PlannedAttribute, comparison: keyof GivenValues, value: unknown): GivenValues {
  if (value == null) return {}
  const fits =
    typeof value === 'string' ||
    (typeof value === 'number' && dataType === 'number') ||
    (typeof value === 'boolean' && dataType === 'boolean')
  if (!fits) throw refused(`${comparison} of ${key} must be a ${dataType} value.`)
  return { [comparison]: typeof value === 'string' ? storable(comparison, value) : String(value) }
}

function containedOf({ key, dataType }: PlannedAttribute, text: string | null): string | null {
  if (text === null || text === '') return null
  if (dataType !== 'text') throw refused(`contains is for TEXT; ${key} is ${dataType.toUpperCase()}.`)
  return `%${textOf('contains', text).replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}

/** The server says what is a value of a data type: the same functions stand in the indexes. */
async function checkValues(
  db: Queryable,
  wanted: readonly { readonly attribute: PlannedAttribute; readonly values: GivenValues }[],
): Promise<void> {
  const all = wanted.flatMap(({ attribute, values }) =>
    Object.entries(values).map(([comparison, value]) => ({ attribute, comparison, value: value as string })),
  )
  if (all.length === 0) return
  const fits = await checkAttributeValues(
    db,
    all.map(({ value }) => value),
    all.map(({ attribute }) => attribute.dataType),
  )
  const wrong = all.find((_, index) => !fits[index]!.fits)
  if (wrong !== undefined)
    throw refused(`${wrong.comparison} of ${wrong.attribute.key} is no ${wrong.attribute.dataType}.`)
}

function orderOf(
  plan: EntityPlan,
  { key, direction }: NonNullable<EntitiesInput['orderBy']>,
): NonNullable<EntityQuery['order']> {
  return { attribute: attributeOf(plan, key, 'sortable'), descending: direction === 'DESC' }
}

function attributeOf(plan: EntityPlan, key: string, flag: 'searchable' | 'sortable'): PlannedAttribute {
  const attribute = plan.attributes.find((each) => each.key === key)
  if (attribute === undefined) throw refused(`${plan.key} has no such attribute: ${storable('key', key).slice(0, 63)}.`)
  if (!attribute[flag]) throw refused(`${key} is not ${flag}. Set the flag with setEntityType first.`)
  if (attribute.indexStatus !== 'active')
    throw refused(`The index of ${key} is ${attribute.indexStatus.toUpperCase()}: it can be used once it is ACTIVE.`)
  return attribute
}

function cursorOf(name: string, value: string | null, id: string): string {
  return Buffer.from(JSON.stringify([name, value, id])).toString('base64url')
}

function placeOf(name: string, cursor: string, order: EntityQuery['order']): EntityPlace {
  try {
    const [from, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const valued = value === null || (order !== null && typeof value === 'string' && badText(value) === null)
    if (from === name && valued && typeof id === 'string' && uuid.test(id)) return { value: value as string | null, id }
  } catch {
    // No JSON: no cursor of ours.
  }
  throw refused('This cursor does not belong to this list in this order. Take `endCursor` of the page before.')
}

/** A cursor is made by us, and yet comes from outside: what is cast is looked at first. */
async function checkPlace(db: Queryable, order: EntityQuery['order'], after: EntityPlace | null): Promise<void> {
  if (order === null || after === null || after.value === null) return
  const [row] = await checkAttributeValues(db, [after.value], [order.attribute.dataType])
  if (!row!.fits) throw refused('This cursor does not belong to this list in this order.')
}

async function count(query: EntityQuery, atMost: number, context: RequestContext): Promise<Count> {
  if (atMost < 1 || atMost > mostCounted) throw refused('`atMost` lies between 1 and 100,000.')
  const found = await bounded(context, (db) => countEntities(db, query, atMost + 1))
  return found > atMost ? { count: atMost, precision: 'AT_LEAST' } : { count: found, precision: 'EXACT' }
}

async function bounded<Result>({ deps }: RequestContext, work: (db: Queryable) => Promise<Result>): Promise<Result> {
  try {
    return await boundedRead(deps.pools.api, work)
  } catch (error) {
    if (error instanceof ApiError && error.extensions.reason === 'LIMIT_EXCEEDED')
      throw new ApiError(
        'BAD_USER_INPUT',
        'This filter would have to look through too many entities. Filter by an attribute that leaves fewer over, or order by the one that is filtered by.',
        { reason: 'LIMIT_EXCEEDED' },
      )
    throw error
  }
}

function textOf(what: string, text: string): string {
  if (text.length > longestText) throw refused(`${what} has at most 1,000 characters.`)
  return storable(what, text)
}

function storable(what: string, text: string): string {
  const problem = badText(text)
  if (problem !== null) throw refused(`${what} ${problem}`)
  return text
}

function refused(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The entities cannot be read. ${message}`, { reason: 'INVALID' })
}
