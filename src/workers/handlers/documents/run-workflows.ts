import { databaseFault } from '../../../jobs/database-fault.ts'
import {
  documentWorkflow,
  fillIn,
  holds,
  type DocumentAction,
  type DocumentFacts,
} from '../../../jobs/document-workflow.ts'
import { cutBytes } from '../../../jobs/failure.ts'
import { addWorkflowTerm } from '../../../sql/add-workflow-term.ts'
import { claimWorkflowRun } from '../../../sql/claim-workflow-run.ts'
import { endWorkflowRun } from '../../../sql/end-workflow-run.ts'
import { listWaitingWorkflows } from '../../../sql/list-waiting-workflows.ts'
import { publishDocumentEvent } from '../../../sql/publish-document-event.ts'
import { reindexForDocument } from '../../../sql/reindex-for-document.ts'
import { removeWorkflowTerm } from '../../../sql/remove-workflow-term.ts'
import { setDocumentField } from '../../../sql/set-document-field.ts'
import { setDocumentTitle } from '../../../sql/set-document-title.ts'
import type { JobTransaction } from '../../handler.ts'
import { statementsIn } from '../statements-in.ts'

interface Workflow {
  readonly id: string
  readonly name: string
  readonly trigger: string
}

/** What an action needs to know beside its own fields. */
interface ActionContext {
  readonly tx: JobTransaction
  readonly tenantId: string
  readonly document: DocumentFacts
  /** Names the action among all of this document. */
  readonly key: string
}

const longestTitle = 200
const longestSubject = 500

/**
 * Runs the workflows that have not run for this document and whose conditions hold, in their order: each sees what those before it did.
 * A run is a row that commits with what its actions wrote, so that they happen once. One that fails leaves its reason and nothing else,
 * and is tried again when the document is read again.
 */
export async function runWorkflows(tx: JobTransaction, tenantId: string, facts: DocumentFacts): Promise<DocumentFacts> {
  const db = statementsIn(tx)
  let document = facts
  for (const { conditions, actions, ...workflow } of await listWaitingWorkflows(db, document.id)) {
    const read = documentWorkflow.safeParse({ conditions, actions })
    if (!read.success) {
      await failed(tx, document, workflow, `It cannot be read: ${read.error.issues[0]!.message}. Set it anew.`)
      continue
    }
    if (!holds(read.data.conditions, document)) continue
    await tx.query('savepoint workflow')
    try {
      document = await runOne(tx, tenantId, document, workflow, read.data.actions)
      await tx.query('release savepoint workflow')
    } catch (error) {
      if (isOurs(error)) throw error
      await tx.query('rollback to savepoint workflow')
      await failed(tx, document, workflow, (error as Error).message)
    }
  }
  return document
}

async function runOne(
  tx: JobTransaction,
  tenantId: string,
  before: DocumentFacts,
  { id, trigger }: Workflow,
  actions: readonly DocumentAction[],
): Promise<DocumentFacts> {
  const db = statementsIn(tx)
  if ((await claimWorkflowRun(db, before.id, id, trigger)).length === 0) return before
  let document = before
  for (const [index, action] of actions.entries())
    document = await act(action, { tx, tenantId, document, key: `document:${document.id}:${id}:${index}` })
  const removedTerms = actions.flatMap((action) => (action.type === 'removeTerm' ? [action.path] : []))
  const result = { actions: actions.map(({ type }) => type), ...(removedTerms.length > 0 && { removedTerms }) }
  await endWorkflowRun(db, document.id, id, trigger, 'done', JSON.stringify(result))
  return document
}

/** Answers the document as it is afterwards. */
async function act(action: DocumentAction, { tx, tenantId, document, key }: ActionContext): Promise<DocumentFacts> {
  const db = statementsIn(tx)
  const { id, terms } = document
  switch (action.type) {
    case 'addTerm':
      if ((await addWorkflowTerm(db, id, action.path)).length === 0) throw new Error(`There is no term ${action.path}.`)
      return terms.includes(action.path) ? document : { ...document, terms: [...terms, action.path] }
    case 'removeTerm':
      await removeWorkflowTerm(db, id, action.path)
      return { ...document, terms: terms.filter((path) => path !== action.path) }
    case 'setTitle': {
      const title = cut(fillIn(action.title, document), longestTitle)
      if (title === '') throw new Error('Its title is empty for this document.')
      await setDocumentTitle(db, id, title)
      return { ...document, title }
    }
    case 'setField':
      await setDocumentField(db, id, action.field, JSON.stringify(action.value))
      return document
    case 'sendEmail':
      await tx.enqueue({
        kind: 'email_send',
        tenant: tenantId,
        payload: emailOf(action, document),
        idempotencyKey: key,
      })
      return document
    case 'publishEvent': {
      const payload = { ...action.payload, ...eventPayload(document) }
      await publishDocumentEvent(db, tenantId, action.eventType, id, JSON.stringify(payload))
      return document
    }
    case 'reindex':
      if ((await reindexForDocument(db, id, action.entityType)).length === 0)
        throw new Error(`There is no entity type ${action.entityType}.`)
      return document
  }
}

/** What events say of a document: who may read it asks for the rest. */
export function eventPayload({ id, title, filename, terms, pageCount }: DocumentFacts): Record<string, unknown> {
  return { document_id: id, title, filename, terms, page_count: pageCount }
}

function emailOf(
  action: Extract<DocumentAction, { type: 'sendEmail' }>,
  document: DocumentFacts,
): Record<string, unknown> {
  const { to, template, content, from, category } = action
  const { id, title, filename, terms } = document
  const variables = { ...template?.variables, document: { id: `document_${id}`, title, filename, terms } }
  return {
    to,
    category,
    ...(from !== undefined && { from }),
    ...(template !== undefined && { template: { ...template, variables } }),
    ...(content !== undefined && {
      content: {
        subject: cut(fillIn(content.subject, document), longestSubject) || filename,
        text: fillIn(content.text, document),
      },
    }),
  }
}

async function failed(tx: JobTransaction, { id }: DocumentFacts, workflow: Workflow, why: string): Promise<void> {
  const result = { error: cutBytes(why, 1_000) }
  await endWorkflowRun(statementsIn(tx), id, workflow.id, workflow.trigger, 'failed', JSON.stringify(result))
}

/** Not the workflow's fault: the database is away, another transaction was in the way, or a statement of ours is wrong. */
function isOurs(error: unknown): boolean {
  return error instanceof Error && 'code' in error && databaseFault(error) !== 'data'
}

function cut(text: string, most: number): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  return [...line].slice(0, most).join('')
}
