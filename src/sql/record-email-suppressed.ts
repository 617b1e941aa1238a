import { statement } from './statement.ts'

export const recordEmailSuppressed = statement<[jobId: string, reason: string], never>(
  'record_email_suppressed',
  `-- the address gets no email: nothing was sent; in the transaction in which the job becomes done
update mdm.aa_email_log
   set status = 'suppressed', last_error = 'The address is suppressed: ' || $2, final_at = now()
 where job_id = $1`,
)
