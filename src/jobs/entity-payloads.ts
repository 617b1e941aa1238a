import { z } from 'zod'

const typeKey = z.string().min(1).max(200)

interface NamesType {
  readonly entity_type_id?: string | undefined
  readonly type_key?: string | undefined
}

const namesOne = ({ entity_type_id: id, type_key: key }: NamesType): boolean =>
  (id === undefined) !== (key === undefined)
const notOne = { error: 'exactly one of entity_type_id and type_key is needed', params: { keyword: 'oneOf' } }
const oneOf = { oneOf: [{ required: ['entity_type_id'] }, { required: ['type_key'] }] }

/** Which type is searched anew: by id, or by its key in the job's tenant. */
export const reindexPayload = z
  .strictObject({
    entity_type_id: z.uuid().optional(),
    type_key: typeKey.optional(),
    /** The search version that its entities are brought to. Missing: the next one, so that all of them are. */
    target_version: z.int().min(1).max(2_147_483_647).optional(),
    reason: z.string().max(500).optional(),
  })
  .refine(namesOne, notOne)
  .meta(oneOf)

/** Whose indexes are looked after. What they have to be stands on the attribute, not in the job: late and doubled jobs do no harm. */
export const indexSyncPayload = z.strictObject({ attribute_id: z.uuid() })

export const ginBackfillPayload = z
  .strictObject({ entity_type_id: z.uuid().optional(), type_key: typeKey.optional() })
  .refine(namesOne, notOne)
  .meta(oneOf)

export type ReindexPayload = z.output<typeof reindexPayload>
export type IndexSyncPayload = z.output<typeof indexSyncPayload>
export type GinBackfillPayload = z.output<typeof ginBackfillPayload>
