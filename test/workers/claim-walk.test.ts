import { expect, test } from 'vitest'
import type { ClaimedRow, Met } from '../../src/sql/claimed-row.ts'
import { createClaimWalk } from '../../src/workers/claim-walk.ts'

const served = 'all'

/** What a claim brought: a job of each of these tenants. */
const rowsOf = (tenants: readonly string[], met: Met | null): ClaimedRow[] =>
  tenants.map((tenant, i) => [`job ${i}`, tenant, 'crane', '{}', 1, 8, 100, 0, i, 0, null, null, '1', met])

/** A walk that has met what is dead: the next claims start behind these. */
function walkBehind(tenants: readonly string[], limit: number) {
  const walk = createClaimWalk({ isAlone: () => true })
  walk.begin('tenant', served)
  walk.learn(rowsOf(tenants, 'dead'), limit, null)
  walk.begin('tenant', served)
  return walk
}

test('a claim that was filled lets the next one take it that its tenants have more', () => {
  expect(walkBehind(['a', 'b', 'c'], 3).keysHaveMore(4)).toBe(true)
})

test('after one that was not filled each tenant is looked at', () => {
  expect(walkBehind(['a', 'b', 'c'], 4).keysHaveMore(4)).toBe(false)
})

test('a claim that does not come to all of them looks at each: those with nothing left would stand for those who have', () => {
  expect(walkBehind(['a', 'b', 'c'], 3).keysHaveMore(3)).toBe(false)
})
