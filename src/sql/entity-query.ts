import { entityRowColumns, type EntityRow } from './entity-type-row.ts'
import type { EntityPlan, PlannedAttribute } from './read-entity-plan.ts'
import type { Queryable } from './statement.ts'

/** A condition on `e`: makes SQL of the names that its values get. */
export interface EntityCondition {
  readonly values: readonly string[]
  readonly sql: (...params: string[]) => string
}

/** Where a page goes on: behind this entity, whose sort value was this (null: it has none). */
export interface EntityPlace {
  readonly value: string | null
  readonly id: string
}

export interface EntityQuery {
  readonly plan: EntityPlan
  readonly conditions: readonly EntityCondition[]
  readonly order: { readonly attribute: PlannedAttribute; readonly descending: boolean } | null
  readonly after: EntityPlace | null
  readonly limit: number
}

export type PlacedEntity = EntityRow & { readonly sortValue: string | null }

const sqlTypes = {
  text: 'text',
  number: 'numeric',
  date: 'date',
  timestamp: 'timestamptz',
  boolean: 'boolean',
} as const

/** More matches than this are met soon enough on a walk in the page's order; fewer are looked up first. */
const mostNarrowed = 10_000

/**
 * Entities along the indexes that jobs made. Those are partial and on expressions: a plan finds them only where type and keys stand in the text as
 * literals, so that this is no prepared statement but a text of its own for each type and filter, without a name (KINDS 0.5). In a transaction.
 */
export async function listEntities(db: Queryable, query: EntityQuery): Promise<PlacedEntity[]> {
  const ids = query.conditions.length === 0 ? null : await narrow(db, query)
  if (ids === null) return page(db, query)
  const among: EntityCondition = { values: [`{${ids.join(',')}}`], sql: (param) => `e.id = any (${param}::uuid[])` }
  return page(db, { ...query, conditions: [among] })
}

/** How many match, looking at no more than `atMost`. In a transaction. */
export async function countEntities(
  db: Queryable,
  { plan, conditions }: Pick<EntityQuery, 'plan' | 'conditions'>,
  atMost: number,
): Promise<number> {
  const { where, values } = compose(plan, conditions)
  const text = `select count(*)::int as count from (select from mdm.ddm_entity e where ${where} limit ${Math.trunc(atMost)}) n`
  const count = () => db.query({ text, values })
  const { rows } = conditions.length === 0 ? await count() : await throughFilters(db, count)
  return (rows[0] as { count: number }).count
}

/**
 * The ids that the filters leave over; null: more than 10,000. A planner that does not know how rare a word is may as well walk along the order until
 * it has met enough of it, past a million entities that do not have it.
 */
async function narrow(db: Queryable, { plan, conditions }: EntityQuery): Promise<string[] | null> {
  const { where, values } = compose(plan, conditions)
  const text = `select e.id from mdm.ddm_entity e where ${where} limit ${mostNarrowed + 1}`
  const { rows } = await throughFilters(db, () => db.query({ text, values }))
  return rows.length > mostNarrowed ? null : rows.map((row) => (row as { id: string }).id)
}

/** Leaves the planner only the indexes of what is filtered by. */
async function throughFilters<Answer>(db: Queryable, read: () => Promise<Answer>): Promise<Answer> {
  const allow = (way: 'on' | 'off') =>
    db.query({
      text: `set local enable_seqscan = ${way}; set local enable_indexscan = ${way}; set local enable_indexonlyscan = ${way}`,
    })
  await allow('off')
  const answer = await read()
  await allow('on')
  return answer
}

async function page(db: Queryable, query: EntityQuery): Promise<PlacedEntity[]> {
  const { order, after, limit } = query
  if (order === null) return read(db, query, `order by e.id`, after === null ? [] : [beyondId(after)])
  const { value } = order.attribute
  const way = order.descending ? 'desc' : 'asc'
  const valued = { values: [], sql: () => `${value} is not null` }
  const rows =
    after !== null && after.value === null
      ? []
      : await read(db, query, `order by ${value} ${way}, e.id ${way}`, [
          valued,
          ...(after === null ? [] : [beyondValue(order, after.value!, after.id)]),
        ])
  if (rows.length >= limit) return rows
  // Those without a value come last in both directions, which no index can do in one go.
  const rest = await read(db, { ...query, limit: limit - rows.length }, 'order by e.id', [
    { values: [], sql: () => `${value} is null` },
    ...(after !== null && after.value === null ? [beyondId(after)] : []),
  ])
  return [...rows, ...rest]
}

async function read(
  db: Queryable,
  { plan, conditions, order, limit }: EntityQuery,
  sorted: string,
  place: readonly EntityCondition[],
): Promise<PlacedEntity[]> {
  const { where, values } = compose(plan, [...conditions, ...place])
  const sortValue = order === null ? 'null::text' : `(${order.attribute.value})::text`
  const text = `select ${entityRowColumns}, ${sortValue} as "sortValue" from mdm.ddm_entity e where ${where} ${sorted} limit ${Math.trunc(limit)}`
  const { rows } = await db.query({ text, values })
  return rows as PlacedEntity[]
}

function compose(plan: EntityPlan, conditions: readonly EntityCondition[]): { where: string; values: string[] } {
  const values = [plan.tenantId]
  const parts = conditions.map(({ values: given, sql }) => sql(...given.map((value) => `$${values.push(value)}`)))
  return { where: ['e.tenant_id = $1::uuid', `e.entity_type_id = ${plan.typeLiteral}`, ...parts].join(' and '), values }
}

function beyondId({ id }: EntityPlace): EntityCondition {
  return { values: [id], sql: (param) => `e.id > ${param}::uuid` }
}

function beyondValue(
  { attribute, descending }: NonNullable<EntityQuery['order']>,
  value: string,
  id: string,
): EntityCondition {
  return {
    values: [value, id],
    sql: (than, last) =>
      `(${attribute.value}, e.id) ${descending ? '<' : '>'} (${than}::${sqlTypes[attribute.dataType]}, ${last}::uuid)`,
  }
}

/** Conditions on an attribute; the values are texts that the server has found to be of its data type. */
export function attributeConditions(
  { value, contained, text, dataType, sortable }: PlannedAttribute,
  given: { eq?: string; gte?: string; lt?: string; contains?: string },
): EntityCondition[] {
  const typed = (param: string): string =>
    dataType === 'text' ? `left(${param}::text, 200)` : `mdm.attr_${dataType}(${param}::text)`
  const conditions: EntityCondition[] = []
  const add = (given1: string | undefined, sql: (param: string) => string): void => {
    if (given1 !== undefined) conditions.push({ values: [given1], sql })
  }
  add(given.eq, (param) => {
    if (dataType !== 'text') return `${value} = ${typed(param)}`
    const along = sortable ? `${value} = ${typed(param)}` : `${contained} = left(${param}::text, 20000)`
    return `${along} and ${text} = ${param}::text`
  })
  add(given.gte, (param) => `${value} >= ${typed(param)}`)
  add(given.lt, (param) => `${value} < ${typed(param)}`)
  add(given.contains, (param) => `${contained} ilike ${param}::text`)
  return conditions
}
