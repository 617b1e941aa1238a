import { inTransaction } from '../db/transaction.ts'
import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { findJobsOfTypeChange } from '../sql/find-jobs-of-type-change.ts'
import { findPendingReindex } from '../sql/find-pending-reindex.ts'
import { holdEntityType } from '../sql/hold-entity-type.ts'
import type { JobRow } from '../sql/job-row.ts'
import { journalTypeChange } from '../sql/journal-type-change.ts'
import { nameWriter } from '../sql/name-writer.ts'
import { raiseSearchVersion } from '../sql/raise-search-version.ts'
import { authorize, type RequestContext } from './context.ts'
import { entityTypeIdOf } from './find-entity-type.ts'
import { badReason } from './reason.ts'
import type { EntityTypeResult } from './set-entity-type.ts'

interface ReindexInput {
  readonly id: string
  readonly reason?: string | null | undefined
}

/** Rebuilds the search vectors of a type. As long as such a job has not begun, asking again answers with it. */
export async function reindexEntityType(input: ReindexInput, context: RequestContext): Promise<EntityTypeResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const reason = input.reason || null
  const errors = badReason(reason)
  if (errors.length > 0) return { entityType: null, jobs: [], errors }
  const id = await entityTypeIdOf(input.id, context)
  const { pools, wakeup } = context.deps
  const actor = actorOf(caller.principal)
  const jobs = await inTransaction(pools.api, async (tx): Promise<readonly JobRow[] | null> => {
    const [type] = id === null ? [] : await holdEntityType(tx, id, tenantPredicate(caller))
    if (type === undefined) return null
    const pending = await findPendingReindex(tx, type.id)
    if (pending.length > 0) return pending
    await nameWriter(tx, actor, context.requestId, reason)
    await raiseSearchVersion(tx, type.id)
    await journalTypeChange(tx, type.id, actor, context.requestId, reason, '{"reindex": true}')
    return findJobsOfTypeChange(tx, type.id)
  })
  if (jobs === null) {
    const message = 'There is no such entity type among your tenants.'
    return {
      entityType: null,
      jobs: [],
      errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id: input.id }],
    }
  }
  wakeup.signal('work')
  wakeup.signal('journal')
  return { entityType: await context.loaders.entityTypes.load(id!), jobs, errors: [] }
}
