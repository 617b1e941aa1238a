import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  broughtAll,
  firstRotation,
  noTenant,
  rotate,
  roundsFor,
  type Rotation,
  tenantsOverShare,
} from '../../src/jobs/fairness.ts'
import { nextTurns, type ModelJob, type ModelRules, type Turn } from '../sql/fair-model.ts'

const idOf = (nr: number): string => `00000000-0000-0000-0000-${nr.toString(16).padStart(12, '0')}`

/** What a claim would bring of these jobs, from where the rotation says that it stands. */
function claim(jobs: readonly ModelJob[], rules: ModelRules, rotation: Rotation, limit: number): ModelJob[] {
  const left = rules.weightOf(rotation.cutTenant) - rotation.cutTaken
  const cutIsThere = rotation.cutTenant !== noTenant && jobs.some((job) => job.tenantId === rotation.cutTenant)
  const turn: Turn = cutIsThere ? { tenantId: rotation.cutTenant, left } : { tenantId: rotation.afterTenant, left: 0 }
  return nextTurns(jobs, rules, turn, limit).map(({ job }) => job)
}

test('however a queue is cut into claims, the turns are those of one long claim', () => {
  const situations = fc.record({
    jobs: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 60 }),
    weights: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 7, maxLength: 7 }),
    limits: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 }),
  })
  fc.assert(
    fc.property(situations, ({ jobs: tenants, weights, limits }) => {
      const all: ModelJob[] = tenants.map((tenant, nr) => ({
        id: idOf(nr),
        tenantId: idOf(tenant),
        kind: 'any',
        priority: 0,
        dueIn: 0,
      }))
      const rules: ModelRules = {
        kinds: new Set(['any']),
        tenants: null,
        excludedPairs: new Set(),
        excludedTenants: new Set(),
        pairBounds: new Map(),
        weightOf: (tenant) => weights[Number.parseInt(tenant.slice(-2), 16)] ?? 1,
      }
      const whole = nextTurns(all, rules, { tenantId: noTenant, left: 0 }, 1_000).map(({ job }) => job.id)
      const cut: string[] = []
      let rotation = firstRotation
      let left: readonly ModelJob[] = all
      for (let nth = 0; left.length > 0; nth += 1) {
        const limit = limits[nth % limits.length]!
        const brought = claim(left, rules, rotation, limit)
        rotation = rotate(
          rotation,
          brought.map((job) => job.tenantId),
          limit,
          rules.weightOf,
        )
        cut.push(...brought.map((job) => job.id))
        left = left.filter((job) => !brought.includes(job))
      }
      expect(cut).toEqual(whole)
    }),
  )
})

test('a claim that brought nothing leaves the rotation where it is, and forgets how many had something to do', () => {
  const before: Rotation = { afterTenant: idOf(3), cutTenant: idOf(4), cutTaken: 2, tenants: 5 }
  expect(rotate(before, [], 10, () => 3)).toEqual({ ...before, tenants: 0 })
})

test('a turn that the limit cut goes on first thing next time', () => {
  const weightOf = () => 3
  const cut = rotate(firstRotation, [idOf(1), idOf(1), idOf(1), idOf(2)], 4, weightOf)
  expect(cut).toEqual({ afterTenant: idOf(1), cutTenant: idOf(2), cutTaken: 1, tenants: 2 })
  // The same tenant alone: what it had is counted on.
  expect(rotate(cut, [idOf(2)], 1, weightOf)).toMatchObject({ cutTenant: idOf(2), cutTaken: 2 })
  expect(rotate(cut, [idOf(2), idOf(2)], 2, weightOf)).toMatchObject({
    afterTenant: idOf(2),
    cutTenant: noTenant,
    cutTaken: 0,
  })
})

test('the greatest id below another has every digit right', () => {
  const cut = (id: string) => rotate(firstRotation, [id], 1, () => 2).afterTenant
  expect(cut('00000000-0000-0001-0000-000000000000')).toBe('00000000-0000-0000-ffff-ffffffffffff')
  expect(cut('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('ffffffff-ffff-ffff-ffff-fffffffffffe')
  expect(cut(noTenant)).toBe(noTenant)
})

test.each([
  [1, 0, 1],
  [10, 0, 10],
  [16, 0, 16],
  [17, 0, 15],
  [64, 0, 4],
  [2_000, 0, 2],
  [10, 20, 1],
  [10, 10, 1],
  [10, 3, 4],
  [1_000, 1, 1_000],
])('a limit of %i over %i tenants takes %i rounds', (limit, tenants, rounds) => {
  expect(roundsFor(limit, tenants)).toBe(rounds)
})

test.each([1, 4, 17, 346, 2_000])(
  'a claim of up to %i jobs that brought the only one, after a rest, looks for no other',
  (limit) => {
    const alone = broughtAll(firstRotation, [idOf(1)], limit, () => 1)
    expect(alone).toBe(limit > 1)
    const filled = Array.from({ length: roundsFor(limit, 0) }, () => idOf(1))
    expect(broughtAll(firstRotation, filled, limit, () => 1)).toBe(false)
  },
)

describe('the share of slots', () => {
  const weights: Record<string, number> = { a: 1, b: 1, heavy: 3 }
  const over = (atWork: string, slots: number) =>
    tenantsOverShare(atWork.split(' ').filter(Boolean), slots, (tenant) => weights[tenant]!)

  test('a tenant alone leaves half of the slots to whoever may come', () => {
    expect(over('a', 4)).toEqual([])
    expect(over('a a', 4)).toEqual(['a'])
  })

  test('weights count, and each tenant may have one', () => {
    expect(over('heavy heavy a', 10)).toEqual([])
    expect(over('heavy heavy heavy heavy heavy heavy a a', 10)).toEqual(['heavy', 'a'])
    expect(over('a b', 1)).toEqual(['a', 'b'])
    expect(over('', 4)).toEqual([])
  })
})
