import type { Pool } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import type { DocumentLanguage } from '../../../jobs/detect-language.ts'
import { listRegexRules } from '../../../sql/list-regex-rules.ts'
import { matchTaxonomyRule } from '../../../sql/match-taxonomy-rule.ts'
import { matchTaxonomy } from '../../../sql/match-taxonomy.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { MatchedTerm } from '../../../sql/taxonomy-parts.ts'
import type { JobLog } from '../../handler.ts'

interface MatchedText {
  readonly tenantId: string
  readonly language: DocumentLanguage | null
  readonly content: string
  readonly title: string | null
  readonly filename: string
}

const allWithinMs = 5_000
const oneWithinMs = 500
const looksAt = 1_000_000
const cancelled = '57014'

/**
 * The terms that a tenant's rules give to a text. All of it happens in the database, under its time limit: a regular expression that
 * takes 35 seconds in JavaScript takes 2 ms there, and one that takes long there as well is left out, with a word in the log.
 */
export async function matchTerms(pool: Pool, text: MatchedText, log: JobLog): Promise<MatchedTerm[]> {
  const { tenantId, language, title, filename } = text
  const content = text.content.slice(0, looksAt)
  const matchWithout = (without: readonly string[]) =>
    within(pool, allWithinMs, (db) => matchTaxonomy(db, tenantId, language, content, title, filename, without))
  try {
    return await matchWithout([])
  } catch (error) {
    if (!isCancelled(error)) throw error
  }
  const slow = await findSlowRules(pool, { ...text, content })
  if (slow.length > 0)
    log.warn(`Regular expressions that took too long were left out, of: ${slow.map(({ path }) => path).join(', ')}.`)
  return matchWithout(slow.map(({ id }) => id))
}

async function findSlowRules(pool: Pool, text: MatchedText): Promise<{ readonly id: string; readonly path: string }[]> {
  const fields: Readonly<Record<string, string>> = {
    content: text.content,
    title: text.title ?? '',
    filename: text.filename,
  }
  const end = performance.now() + allWithinMs
  const slow: { readonly id: string; readonly path: string }[] = []
  for (const rule of await listRegexRules(pool, text.tenantId)) {
    const inTime = performance.now() < end && (await takesLittle(pool, rule.id, fields[rule.field]!))
    if (!inTime) slow.push(rule)
  }
  return slow
}

async function takesLittle(pool: Pool, ruleId: string, content: string): Promise<boolean> {
  try {
    await within(pool, oneWithinMs, (db) => matchTaxonomyRule(db, ruleId, content))
    return true
  } catch (error) {
    if (isCancelled(error)) return false
    throw error
  }
}

async function within<Rows>(pool: Pool, ms: number, read: (db: Queryable) => Promise<Rows>): Promise<Rows> {
  return inTransaction(pool, async (tx) => {
    await tx.query(`set local statement_timeout = ${ms}; set local jit = off`)
    return read(tx)
  })
}

function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === cancelled
}
