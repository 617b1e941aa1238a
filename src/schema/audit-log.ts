import { listAudit, watchAudit, type AuditPage } from '../resolvers/list-audit.ts'
import type { AuditRow } from '../resolvers/rows.ts'
import { AuditActionRef, AuditEntryRef } from './audit-entry.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { DateTimeRangeInputRef } from './job-filter.ts'
import { JobRef } from './job-ref.ts'
import { selects } from './selects.ts'

const AuditEntryConnectionRef = connectionOf<AuditRow, AuditPage>(AuditEntryRef, {
  one: 'entry',
  many: 'entries',
  sort: 'audit ',
})

builder.objectField(AuditEntryConnectionRef, 'streamCursor', (t) =>
  t.string({
    description:
      'Position of this read in the journal: pass as `after` to the `auditLog` subscription and miss nothing.',
    resolve: ({ streamCursor }) => streamCursor!,
  }),
)

const AuditFilterRef = builder.inputType('AuditFilter', {
  description: 'Narrow down the audit log.',
  fields: (t) => ({
    action: t.field({ type: [AuditActionRef], description: 'Any of these actions.' }),
    actorId: t.id({ description: 'Done by this principal.' }),
    tenantId: t.idList({ description: 'Only these tenants.' }),
    jobId: t.id({ description: 'On this job.' }),
    at: t.field({ type: DateTimeRangeInputRef, description: 'Done in this span.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.field({
    type: AuditEntryConnectionRef,
    description: 'The audit log, newest first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } },
    ],
    args: {
      filter: t.arg({ type: AuditFilterRef }),
      first: t.arg.int({ required: true, defaultValue: 20 }),
      after: t.arg.string(),
    },
    resolve: (_, args, context, info) => listAudit({ ...args, streamCursor: selects(info, 'streamCursor') }, context),
  }),
)

builder.objectField(JobRef, 'auditLog', (t) =>
  t.field({
    type: AuditEntryConnectionRef,
    description: 'What people and machines did to it.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } },
    ],
    args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
    resolve: ({ id }, args, context, info) =>
      listAudit({ ...args, filter: { jobId: id }, streamCursor: selects(info, 'streamCursor') }, context),
  }),
)

builder.subscriptionField('auditLog', (t) =>
  t.field({
    type: AuditEntryRef,
    description: 'New audit entries, from now or after a `streamCursor`.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } }],
    args: { filter: t.arg({ type: AuditFilterRef }), after: t.arg.string() },
    subscribe: (_, args, context) => watchAudit(args, context),
    resolve: (entry: AuditRow) => entry,
  }),
)
