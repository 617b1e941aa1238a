import { heldUpBy, type ClaimedRow, type Met } from './claimed-row.ts'
import type { ClaimParams } from './claim-parts.ts'
import { readClaim } from './read-claim.ts'
import { statement, type Queryable, type Statement } from './statement.ts'

/** What a claim tells once, as JSON in the last column of the first job's row. */
interface Told {
  readonly claimId: string
  readonly claimedMs: number
  readonly met: Met | null
  /** In the order of their turns. */
  readonly ids: readonly string[]
}

/** Declares a claim whose text ends with `moveInTurn` or `moveCapped`: its rows come in the order of their turns. */
export function claimStatement<Params extends readonly [...ClaimParams, ...unknown[]]>(
  name: string,
  text: string,
): Statement<Params, ClaimedRow> {
  const transfer = statement<Params, ClaimedRow>(name, text, { rowMode: 'array' })
  const claim = async (db: Queryable, ...params: Params): Promise<ClaimedRow[]> => {
    // Where it was not told, somebody changed the first of the jobs just before it was locked: it stays, and the others are claimed.
    return inOrderOfTurns(await transfer(db, ...params)) ?? (await readClaim(db, params[2]))
  }
  return Object.assign(claim, { statementName: name, text })
}

/** Puts rows in the order of their turns, with what is told once, or left out because it is as usual, in each of them; null: it was not told. */
function inOrderOfTurns(rows: ClaimedRow[]): ClaimedRow[] | null {
  if (rows.length === 0 || heldUpBy(rows) !== null) return rows
  const json = rows.find((row) => row[13] !== null)?.[13]
  if (json === undefined) return null
  const { claimId, claimedMs, met, ids } = JSON.parse(json!) as Told
  // Jobs that stand in the table as their turns come need no look-up, which took 0.7 us each of 0.9.
  const ordered = rows.length === ids.length && rows.every((row, nth) => row[0] === ids[nth]) ? rows : sorted(rows, ids)
  for (const row of ordered) {
    row[8] ??= row[7]
    row[9] = claimedMs
    row[12] = claimId
    row[13] = met
  }
  return ordered
}

function sorted(rows: readonly ClaimedRow[], ids: readonly string[]): ClaimedRow[] {
  const byId = new Map(rows.map((row) => [row[0], row]))
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined)
}
