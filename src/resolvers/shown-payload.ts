import { redact, type Redacted } from '../jobs/redact.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'

/** A job's payload as this caller may see it: whole with READ_PAYLOADS, else with the kind's redacted paths masked. */
export async function shownPayload(job: JobRow, context: RequestContext): Promise<Redacted> {
  const payload: unknown = JSON.parse(job.payloadText)
  if (context.caller?.scopes.has('READ_PAYLOADS')) return { value: payload, redacted: false }
  const { redactedPaths } = await kindView(job.kind, context)
  return redact(payload, redactedPaths)
}
