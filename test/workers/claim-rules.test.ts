import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { standardDefaults, type JobKind } from '../../src/jobs/kind.ts'
import { createClaimRules } from '../../src/workers/claim-rules.ts'

const kind = (name: string, given: Partial<JobKind['defaults']> = {}): [string, JobKind] => [
  name,
  {
    name,
    description: 'For the test.',
    payload: z.looseObject({}),
    example: {},
    redact: [],
    defaults: { ...standardDefaults, ...given },
    inputField: null,
    schedule: null,
  },
]
const nothing = { tenants: [], pauses: [], caps: [], kinds: [] }

/** How many jobs of a kind may start at one moment, over all tenants named. */
function startsAtOnce(livingInstances: number, providers: Record<string, { rps: number; burst: number }>): number {
  const rules = createClaimRules({ kinds: new Map([kind('mail', { provider: 'smtp' })]), providers })
  rules.update(nothing, livingInstances, [])
  let started = 0
  for (const tenant of ['a', 'b', 'c', 'd'])
    for (let i = 0; i < 50; i += 1) if (rules.take('mail', tenant, 0, 1_000).taken) started += 1
  return started
}

describe('N03: without a common store each instance takes its share of a provider', () => {
  test.each([
    [1, 20],
    [2, 10],
    [5, 4],
  ])('of %i instances each may start %i of 20', (instances, share) => {
    expect(startsAtOnce(instances, { smtp: { rps: 10, burst: 20 } })).toBe(share)
  })

  test('never less than one, so that nothing stops', () => {
    expect(startsAtOnce(50, { smtp: { rps: 10, burst: 20 } })).toBe(1)
  })

  test('a provider without a cap limits nobody', () => {
    expect(startsAtOnce(1, {})).toBe(200)
  })
})
