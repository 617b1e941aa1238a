import type { IndexSyncPayload } from '../../jobs/entity-payloads.ts'
import { NeverRetry } from '../../jobs/errors.ts'
import { findBadValues } from '../../sql/find-bad-values.ts'
import { findEntityIndexes } from '../../sql/find-entity-indexes.ts'
import { findOwnerlessIndexes } from '../../sql/find-ownerless-indexes.ts'
import { finishAttributeIndex } from '../../sql/finish-attribute-index.ts'
import { markAttributeIndex } from '../../sql/mark-attribute-index.ts'
import { readAttributeIndexes, type AttributeIndexes } from '../../sql/read-attribute-indexes.ts'
import type { Queryable } from '../../sql/statement.ts'
import type { Handler } from '../handler.ts'
import { runIndexJob, type IndexFault, type IndexJobDeps, type IndexOwner } from './indexes/run-index-job.ts'

/**
 * Brings the indexes of an attribute in line with its flags as they are now, whatever they were when the job was enqueued: late, doubled and
 * reordered jobs arrive at the same. An attribute that is gone takes its indexes along.
 */
export function createIndexSync(deps: IndexJobDeps): Handler<IndexSyncPayload> {
  return (context) =>
    runIndexJob(deps, context, async (db) => {
      const id = context.payload.attribute_id.toLowerCase()
      const [attribute] = await readAttributeIndexes(db, id)
      if (attribute === undefined) return gone(id)
      if (attribute.tenantId !== context.job.tenantId)
        throw new NeverRetry("There is no such attribute among the entity types of the job's tenant.")
      return ownerOf(id, attribute)
    })
}

function ownerOf(id: string, attribute: AttributeIndexes): IndexOwner {
  const { typeId, typeKey, key, dataType, toggleVersion, wanted, helper, builtWith } = attribute
  return {
    name: `the attribute ${key} of ${typeKey}`,
    facts: { attribute_id: id, attribute: key, type: typeKey },
    wanted,
    outdated: builtWith !== null && helper !== null && builtWith !== helper,
    find: (db) => findEntityIndexes(db, id, null),
    check: (db) => checkValues(db, attribute),
    async mark(db, status, error) {
      await markAttributeIndex(db, id, toggleVersion, status, error === null ? null : JSON.stringify(error))
    },
    async finish(db) {
      const [finished] = await finishAttributeIndex(
        db,
        id,
        toggleVersion,
        wanted[0]?.name ?? null,
        wanted.length === 0 ? null : helper,
      )
      return finished !== undefined
    },
  }

  async function checkValues(db: Queryable, { tenantId: tenant }: AttributeIndexes): Promise<IndexFault | null> {
    if (dataType === 'text') return null
    const [found] = await findBadValues(db, tenant, typeId, key, dataType)
    const { bad, sample, jsonTypes } = found!
    if (bad === 0) return null
    const kinds = Object.entries(jsonTypes).map(([type, n]) => `${n} ${type}`)
    return {
      code: 'coercion_failed',
      message:
        `${bad} values of the attribute ${key} of ${typeKey} are no ${dataType} (JSON types: ${kinds.join(', ')}), ` +
        `e.g. in the entities ${sample.join(', ')}. Correct them, then replay the job.`,
      bad_rows: bad,
      sample,
    }
  }
}

/** Nothing is wanted any more, and there is nobody to tell. */
function gone(id: string): IndexOwner {
  return {
    name: 'an attribute that is gone',
    facts: { attribute_id: id },
    wanted: [],
    outdated: false,
    find: async (db) => (await findOwnerlessIndexes(db)).map(({ name }) => ({ name, valid: true, signature: '' })),
    check: async () => null,
    mark: async () => undefined,
    finish: async () => true,
  }
}
