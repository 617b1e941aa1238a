import { statement } from './statement.ts'

export const recordEmailHandover = statement<[jobId: string, attempts: number], { unanswered: number }>(
  'record_email_handover',
  `-- the provider asks for the message: from here on it may have it, until its answer is recorded; no row: a later run has begun
update mdm.aa_email_log
   set unanswered = unanswered + 1
 where job_id = $1 and attempts = $2
returning unanswered`,
)
