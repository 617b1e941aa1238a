import { checkPayload } from '../jobs/check-payload.ts'
import { documentWorkflow, type DocumentAction } from '../jobs/document-workflow.ts'
import { badText, encodePayload, type PayloadProblem } from '../jobs/payload.ts'
import { actorOf } from '../jobs/permissions.ts'
import type { DocumentWorkflowRow } from '../sql/document-workflow-row.ts'
import { findTaxonomyTerms } from '../sql/find-taxonomy-terms.ts'
import { setDocumentWorkflow as set } from '../sql/set-document-workflow.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface SetDocumentWorkflowInput {
  readonly tenantId?: string | null | undefined
  readonly name: string
  readonly conditions?: unknown
  readonly actions?: unknown
  readonly enabled: boolean
}

export interface DocumentWorkflowResult {
  readonly workflow: DocumentWorkflowRow | null
  readonly errors: readonly UserError[]
}

const longestName = 200

/** Makes a workflow or changes it, by name. It runs once for each document that is read from now on, or read again. */
export async function setDocumentWorkflow(
  { tenantId = null, name, conditions, actions, enabled }: SetDocumentWorkflowInput,
  context: RequestContext,
): Promise<DocumentWorkflowResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const tenant = await chooseTenant(context, caller, tenantId, ['tenantId'])
  const given = { conditions, actions }
  const encoded = encodePayload(given)
  const checked = encoded.ok
    ? checkPayload(documentWorkflow, given)
    : { ok: false as const, problems: [encoded.problem] }
  const errors = [
    ...(tenant.ok ? [] : [tenant.error]),
    ...badName(name),
    ...(checked.ok ? [] : checked.problems.map(problem)),
  ]
  if (errors.length > 0 || !tenant.ok || !checked.ok) return { workflow: null, errors }
  const workflow = checked.payload as { readonly actions: readonly DocumentAction[] }
  const missing = await missingTerms(tenant.tenantId, workflow.actions, context)
  if (missing.length > 0) return { workflow: null, errors: missing }
  const { pools, wakeup } = context.deps
  const [row] = await set(
    pools.api,
    tenant.tenantId,
    name,
    JSON.stringify(conditions),
    JSON.stringify(actions),
    enabled,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('journal')
  return { workflow: row!, errors: [] }
}

/** Where it stands, in `conditions` or `actions`. */
function problem({ pointer, message, keyword }: PayloadProblem): UserError {
  const [, field = 'conditions', ...rest] = pointer.split('/')
  return invalid([field], message, { pointer: rest.map((step) => `/${step}`).join(''), keyword })
}

function badName(name: string): UserError[] {
  if (name.trim() === '') return [invalid(['name'], 'name must not be empty.')]
  if ([...name].length > longestName) return [invalid(['name'], `name must have at most ${longestName} characters.`)]
  const message = badText(name)
  return message === null ? [] : [invalid(['name'], `name ${message}`)]
}

async function missingTerms(
  tenantId: string,
  actions: readonly DocumentAction[],
  { deps }: RequestContext,
): Promise<UserError[]> {
  const wanted = actions.flatMap((action, index) => (action.type === 'addTerm' ? [{ path: action.path, index }] : []))
  if (wanted.length === 0) return []
  const found = await findTaxonomyTerms(
    deps.pools.api,
    tenantId,
    wanted.map(({ path }) => path),
  )
  const known = new Set(found.map(({ path }) => path))
  return wanted.flatMap(({ path, index }) =>
    known.has(path)
      ? []
      : [invalid(['actions'], 'There is no such term. setTaxonomyTerm makes one.', { pointer: `/${index}/path` })],
  )
}
