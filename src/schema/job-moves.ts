import type { Scope } from '../jobs/permissions.ts'
import { cancelJob } from '../resolvers/cancel-job.ts'
import { discardJob, type DiscardResult } from '../resolvers/discard-job.ts'
import type { JobResult } from '../resolvers/move-job.ts'
import { replayJob } from '../resolvers/replay-job.ts'
import { reprioritizeJob } from '../resolvers/reprioritize-job.ts'
import { rescheduleJob } from '../resolvers/reschedule-job.ts'
import { runJobNow } from '../resolvers/run-job-now.ts'
import { stopJob } from '../resolvers/stop-job.ts'
import { AuditEntryRef } from './audit-entry.ts'
import { builder } from './builder.ts'
import { JobRef } from './job-ref.ts'
import { ScheduleInputRef } from './schedule-input.ts'
import { errorsOf } from './user-error.ts'

const directives = (scope: Scope) => [
  { name: 'cost' as const, args: { weight: '10' } },
  { name: 'requiresScopes' as const, args: { scopes: [[scope]] } },
]

const JobPayloadRef = builder.objectRef<JobResult>('JobPayload').implement({
  description: 'Result of an action on one job.',
  fields: (t) => ({
    job: t.expose('job', { type: JobRef, nullable: true, description: 'The job as it is now.' }),
    errors: errorsOf(t),
  }),
})

const DiscardJobPayloadRef = builder.objectRef<DiscardResult>('DiscardJobPayload').implement({
  description: 'Result of a discard.',
  fields: (t) => ({
    discardedJobId: t.exposeID('discardedJobId', { nullable: true, description: 'Id of the deleted job.' }),
    auditEntry: t.expose('auditEntry', {
      type: AuditEntryRef,
      nullable: true,
      description: 'Where its payload is kept.',
    }),
    errors: errorsOf(t),
  }),
})

const expectedRevision = 'Only if the job is still at this revision.'

const JobActionInputRef = builder.inputType('JobActionInput', {
  description: 'A job to act on.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The job.' }),
    expectedRevision: t.int({ description: expectedRevision }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

const ReplayJobInputRef = builder.inputType('ReplayJobInput', {
  description: 'A job to put back.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The job, in DLQ or FAILED.' }),
    schedule: t.field({ type: ScheduleInputRef, description: 'When. Default: now.' }),
    payload: t.field({ type: 'JSON', description: 'A corrected payload. The old one is kept in the audit log.' }),
    payloadText: t.string({
      description: 'The same as text, so that numbers beyond 2^53 stay exact. Not together with `payload`.',
    }),
    expectedRevision: t.int({ description: expectedRevision }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

const RescheduleJobInputRef = builder.inputType('RescheduleJobInput', {
  description: 'A new time for a job.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The job, PENDING.' }),
    schedule: t.field({ type: ScheduleInputRef, required: true, description: 'When.' }),
    expectedRevision: t.int({ description: expectedRevision }),
  }),
})

const ReprioritizeJobInputRef = builder.inputType('ReprioritizeJobInput', {
  description: 'A new priority for a job.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The job, PENDING.' }),
    priority: t.int({ required: true, description: 'Lower runs first.' }),
    expectedRevision: t.int({ description: expectedRevision }),
  }),
})

builder.mutationFields((t) => ({
  cancelJob: t.field({
    type: JobPayloadRef,
    description:
      'Withdraw a job that is PENDING or RUNNING. PENDING: at once. RUNNING: the worker is signalled; if it still succeeds, DONE stands.',
    directives: directives('CONTROL_JOBS'),
    args: { input: t.arg({ type: JobActionInputRef, required: true }) },
    resolve: (_, { input }, context) => cancelJob(input, context),
  }),
  runJobNow: t.field({
    type: JobPayloadRef,
    description: 'Make a PENDING job available now.',
    directives: directives('CONTROL_JOBS'),
    args: { input: t.arg({ type: JobActionInputRef, required: true }) },
    resolve: (_, { input }, context) => runJobNow(input, context),
  }),
  rescheduleJob: t.field({
    type: JobPayloadRef,
    description: 'Change when a PENDING job runs.',
    directives: directives('CONTROL_JOBS'),
    args: { input: t.arg({ type: RescheduleJobInputRef, required: true }) },
    resolve: (_, { input }, context) => rescheduleJob(input, context),
  }),
  reprioritizeJob: t.field({
    type: JobPayloadRef,
    description: 'Change the priority of a PENDING job.',
    directives: directives('CONTROL_JOBS'),
    args: { input: t.arg({ type: ReprioritizeJobInputRef, required: true }) },
    resolve: (_, { input }, context) => reprioritizeJob(input, context),
  }),
  replayJob: t.field({
    type: JobPayloadRef,
    description: 'Put a job back from DLQ or FAILED: PENDING, attempts at zero.',
    directives: directives('MANAGE_METADATA'),
    args: { input: t.arg({ type: ReplayJobInputRef, required: true }) },
    resolve: (_, { input }, context) => replayJob(input, context),
  }),
  discardJob: t.field({
    type: DiscardJobPayloadRef,
    description: 'Delete a job for good. Its payload stays in the audit log.',
    directives: directives('MANAGE_METADATA'),
    args: { input: t.arg({ type: JobActionInputRef, required: true }) },
    resolve: (_, { input }, context) => discardJob(input, context),
  }),
  stopJob: t.field({
    type: JobPayloadRef,
    description:
      'Flag a job that is PENDING, RUNNING or in the DLQ as not to be tried again (status FAILED). Bulk replay skips it.',
    directives: directives('MANAGE_METADATA'),
    args: { input: t.arg({ type: JobActionInputRef, required: true }) },
    resolve: (_, { input }, context) => stopJob(input, context),
  }),
}))
