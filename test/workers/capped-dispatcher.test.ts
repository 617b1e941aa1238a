import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPools } from '../../src/db/pool.ts'
import { setConcurrencyLimit } from '../../src/sql/set-concurrency-limit.ts'
import { createCappedDispatcher } from '../../src/workers/capped-dispatcher.ts'
import { createClaimRules } from '../../src/workers/claim-rules.ts'
import type { Run } from '../../src/workers/run.ts'
import { createUnheardClaims } from '../../src/workers/unheard-claims.ts'
import { registerTestKinds, testTenant, testWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['capped'])
})
afterEach(() => database.drop())

test('what stands under a cap is looked for again at once after a claim that failed', async () => {
  const pools = createPools(database.url)
  try {
    const tenantId = await testTenant(database)
    await database.sql(`insert into mdm.aa_job (tenant_id, job_kind) values ($1, 'capped')`, [tenantId])
    await setConcurrencyLimit(database.pool, 'capped', null, 5, 'user:ada', 'r')
    const worker = await testWorker(database.pool)
    const rules = createClaimRules({ kinds: new Map(), providers: {} })
    // The first ones are no JSON: the statement fails.
    const weights = ['none', '{}']
    const received: Run[] = []
    const dispatcher = createCappedDispatcher({
      spec: { dispatch: 'fair', tenantIds: null },
      pool: pools.claim,
      worker: worker.name,
      instanceId: worker.instanceId,
      rules: { weights: () => weights.shift()! },
      unheard: createUnheardClaims(pools.claim),
      receive: (runs) => received.push(...runs),
    })
    const claim = () => dispatcher.claim(10, rules.shape(['capped'], performance.now()), [])
    await expect(claim()).rejects.toThrow('invalid input syntax for type json')
    expect(await claim()).toMatchObject([{ kind: 'capped' }])
    expect(received).toMatchObject([{ kind: 'capped' }])
  } finally {
    await pools.end()
  }
})
