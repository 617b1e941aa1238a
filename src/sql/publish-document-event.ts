import { statement } from './statement.ts'

type Params = [tenantId: string, type: string, documentId: string, payloadJson: string]

export const publishDocumentEvent = statement<Params, never>(
  'publish_document_event',
  `-- an event about a document into the outbox, if anybody wants it
select mdm.publish_event($1::uuid, $2, 'document', $3, $4::jsonb)`,
)
