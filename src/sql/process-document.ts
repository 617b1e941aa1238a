import { statement } from './statement.ts'

type Params = [documentId: string, deriveTitle: boolean, actor: string, requestId: string, traceContext: string | null]

export const processDocument = statement<Params, { jobId: string }>(
  'process_document',
  `-- (nothing) -> pending: the job that reads a document, at its birth or again
select mdm.process_document($1::uuid, $2, $3, $4, $5) as "jobId"`,
)
