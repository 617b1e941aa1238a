import { z } from 'zod'

/** Parts of the work on a document, in their order. */
export const documentSteps = ['text', 'title', 'taxonomy', 'workflows'] as const

export type DocumentStep = (typeof documentSteps)[number]

export const documentProcessPayload = z.strictObject({
  document_id: z.uuid(),
  /** A person's title is kept in any case. */
  derive_title: z.boolean().default(true),
  /** Left out: all of them. Without `text` the text of the last reading is taken, if there is one. */
  steps: z.array(z.enum(documentSteps)).min(1).max(4).optional(),
})

/** A checked payload of `document_process`. */
export type DocumentProcessPayload = z.output<typeof documentProcessPayload>
