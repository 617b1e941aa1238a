import type { GinBackfillPayload } from '../../jobs/entity-payloads.ts'
import { NeverRetry } from '../../jobs/errors.ts'
import { findEntityIndexes } from '../../sql/find-entity-indexes.ts'
import { finishGinIndex } from '../../sql/finish-gin-index.ts'
import { markGinIndex } from '../../sql/mark-gin-index.ts'
import { nameGinIndex } from '../../sql/name-gin-index.ts'
import { readGinIndex, type GinIndex } from '../../sql/read-gin-index.ts'
import type { Queryable } from '../../sql/statement.ts'
import type { Handler } from '../handler.ts'
import { runIndexJob, type IndexJobDeps, type IndexOwner } from './indexes/run-index-job.ts'

/** Builds the index by which external sources find entities of a type, or drops it, as its flag says now. */
export function createGinBackfill(deps: IndexJobDeps): Handler<GinBackfillPayload> {
  return (context) =>
    runIndexJob(deps, context, async (db) => {
      const { entity_type_id: id = null, type_key: key = null } = context.payload
      const read = async (): Promise<GinIndex | undefined> => (await readGinIndex(db, id, context.job.tenantId, key))[0]
      let type = await read()
      if (type === undefined && id !== null) return gone(id.toLowerCase())
      if (type === undefined || type.tenantId !== context.job.tenantId)
        throw new NeverRetry("There is no such entity type in the job's tenant.")
      if (type.target && type.indexName === null) {
        await nameGinIndex(db, type.id)
        type = (await read())!
      }
      return ownerOf(type)
    })
}

function ownerOf({ id, key, toggleVersion, wanted }: GinIndex): IndexOwner {
  return {
    name: `the external sources of ${key}`,
    facts: { entity_type_id: id, type: key },
    wanted,
    outdated: false,
    find: (db: Queryable) => findEntityIndexes(db, null, id),
    check: async () => null,
    async mark(db, status, error) {
      await markGinIndex(db, id, toggleVersion, status, error === null ? null : JSON.stringify(error))
    },
    async finish(db) {
      const [finished] = await finishGinIndex(db, id, toggleVersion, wanted[0]?.name ?? null)
      return finished !== undefined
    },
  }
}

/** The type was deleted, its index is still there. */
function gone(id: string): IndexOwner {
  return {
    name: 'a type that is gone',
    facts: { entity_type_id: id },
    wanted: [],
    outdated: false,
    find: (db: Queryable) => findEntityIndexes(db, null, id),
    check: async () => null,
    mark: async () => undefined,
    finish: async () => true,
  }
}
