import { listDocumentWorkflows } from '../resolvers/list-document-workflows.ts'
import type { DocumentWorkflowRow } from '../resolvers/rows.ts'
import { setDocumentWorkflow, type DocumentWorkflowResult } from '../resolvers/set-document-workflow.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'
import { errorsOf } from './user-error.ts'

const DocumentWorkflowRef = builder.objectRef<DocumentWorkflowRow>('DocumentWorkflow').implement({
  description: 'A rule for what happens once after a document was read.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `workflow_${id}` }),
    name: t.exposeString('name', { description: 'Display name.' }),
    conditions: t.expose('conditions', {
      type: 'JSON',
      description: 'When: a condition over title, filename, text, terms.',
    }),
    actions: t.expose('actions', { type: 'JSON', description: 'What: a list of actions.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether it is in force.' }),
  }),
})

builder.queryField('documentWorkflows', (t) =>
  t.field({
    type: [DocumentWorkflowRef],
    description: "Workflows of the caller's tenants.",
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { tenantId: t.arg.id() },
    resolve: (_, args, context) => listDocumentWorkflows(args, context),
  }),
)

const DocumentWorkflowInputRef = builder.inputType('DocumentWorkflowInput', {
  description: 'A workflow to create or change by name.',
  fields: (t) => ({
    tenantId: t.id({ description: 'Its tenant.' }),
    name: t.string({ required: true, description: 'Display name.' }),
    conditions: t.field({ type: 'JSON', required: true, description: 'When.' }),
    actions: t.field({ type: 'JSON', required: true, description: 'What.' }),
    enabled: t.boolean({ required: true, defaultValue: true, description: 'Whether it is in force.' }),
  }),
})

const DocumentWorkflowPayloadRef = builder.objectRef<DocumentWorkflowResult>('DocumentWorkflowPayload').implement({
  description: 'Result of a change to a workflow.',
  fields: (t) => ({
    workflow: t.expose('workflow', {
      type: DocumentWorkflowRef,
      nullable: true,
      description: 'The workflow as it is now.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('setDocumentWorkflow', (t) =>
  t.field({
    type: DocumentWorkflowPayloadRef,
    description: 'Create or change a workflow.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: DocumentWorkflowInputRef, required: true }) },
    resolve: (_, { input }, context) => setDocumentWorkflow(input, context),
  }),
)
