import { outsideRange, ranges } from '../jobs/ranges.ts'
import { ApiError } from './api-error.ts'

/** A page as asked for. */
export interface PageArgs {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

/** A page of rows with their cursors. */
export interface Page<Row> {
  readonly edges: readonly { readonly cursor: string; readonly node: Row }[]
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
}

/** How to read a page: so many rows (one more is read, to see whether there are others) beyond the cursor, forward or backward. */
export interface PagePlan {
  readonly size: number
  readonly backward: boolean
  readonly cursor: string | null
}

const standardSize = 20

/** Outside of 1 to 100 is refused, not clamped: a clamped page looks like the last one. */
export function planPage({ first, after, last, before }: PageArgs): PagePlan {
  if (first != null && last != null) throw badPage('Give `first` or `last`, not both.')
  if (last == null && before != null) throw badPage('`before` goes with `last`.')
  if (last != null && after != null) throw badPage('`after` goes with `first`.')
  const size = last ?? first ?? standardSize
  const outside = outsideRange(last == null ? '`first`' : '`last`', size, ranges.pageSize)
  if (outside !== null) throw badPage(outside)
  return last == null
    ? { size, backward: false, cursor: after ?? null }
    : { size, backward: true, cursor: before ?? null }
}

/** Makes a page of rows that were read in the plan's direction, with one more than its size if there is one. */
export function pageOf<Row>(plan: PagePlan, rows: readonly Row[], cursorOf: (row: Row) => string): Page<Row> {
  const more = rows.length > plan.size
  const taken = rows.slice(0, plan.size)
  const edges = (plan.backward ? taken.toReversed() : taken).map((node) => ({ cursor: cursorOf(node), node }))
  // Whoever comes from a cursor came from a page on that side.
  const behind = plan.cursor !== null
  return { edges, hasNextPage: plan.backward ? behind : more, hasPreviousPage: plan.backward ? more : behind }
}

/** A cursor for what has an order: its name, so that a cursor of another list is noticed, and the sort key. */
export function encodeCursor(order: string, key: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([order, ...key])).toString('base64url')
}

/** The sort key in a cursor. Throws BAD_USER_INPUT when it is none, or one of another list. */
export function decodeCursor(order: string, cursor: string, pattern: RegExp): string[] {
  try {
    const [from, ...key] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const text = key.join(' ')
    if (from === order && pattern.test(text)) return key.map(String)
  } catch {
    // No JSON: no cursor of ours.
  }
  throw badPage(
    'This cursor does not belong to this list in this order. Take `endCursor` or `startCursor` of the page before.',
  )
}

function badPage(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', message, { reason: 'INVALID' })
}
