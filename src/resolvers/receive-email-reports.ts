import type { EmailReport } from '../jobs/email-report.ts'
import { recordEmailReports } from '../sql/record-email-reports.ts'
import type { Queryable } from '../sql/statement.ts'

/** Writes what a provider reports into the email log and the suppression list; answers how many mails of ours it was about. Repeating it changes nothing. */
export async function receiveEmailReports(
  db: Queryable,
  provider: string,
  reports: readonly EmailReport[],
): Promise<number> {
  if (reports.length === 0) return 0
  const [row] = await recordEmailReports(db, provider, JSON.stringify(reports))
  return row!.matched
}
