import type { GraphQLSchema } from 'graphql'
import { allowedActions, type JobAction } from '../jobs/allowed-actions.ts'
import { principalOf } from '../jobs/permissions.ts'
import { lastFailure } from '../resolvers/job-failure.ts'
import { kindView } from '../resolvers/kind-view.ts'
import { listJobAttempts, secondsSince } from '../resolvers/list-job-attempts.ts'
import { listJobEvents } from '../resolvers/list-job-events.ts'
import { shownPayload } from '../resolvers/shown-payload.ts'
import { builder } from './builder.ts'
import { JobAttemptConnectionRef } from './job-attempt.ts'
import { JobErrorRef } from './job-error.ts'
import { JobEventConnectionRef } from './job-event.ts'
import { JobKindRef } from './job-kind.ts'
import { JobProgressRef } from './job-progress.ts'
import { JobRef } from './job-ref.ts'
import { JobStatusRef } from './job-status.ts'
import { JobStopRef } from './job-stop.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { TenantRef } from './tenant.ts'
import { WorkerRef } from './worker.ts'

const JobActionRef = builder.enumType('JobAction', {
  description: "What the caller may do with a job now, given its status and the caller's scopes.",
  values: {
    CANCEL: { description: 'Withdraw it.' },
    STOP: { description: 'Flag it as not to be tried again.' },
    REPLAY: { description: 'Put it back from DLQ or FAILED with attempts at zero.' },
    DISCARD: { description: 'Delete it for good.' },
    RUN_NOW: { description: 'Make it available now.' },
    RESCHEDULE: { description: 'Change when it runs.' },
    REPRIORITIZE: { description: 'Change its priority.' },
  } as const,
})

const mutationOf: Record<JobAction, string> = {
  CANCEL: 'cancelJob',
  STOP: 'stopJob',
  REPLAY: 'replayJob',
  DISCARD: 'discardJob',
  RUN_NOW: 'runJobNow',
  RESCHEDULE: 'rescheduleJob',
  REPRIORITIZE: 'reprioritizeJob',
}

JobRef.implement({
  description: 'One unit of background work.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id, e.g. `job_0197f3c2-…`.', resolve: ({ id }) => `job_${id}` }),
    kind: t.field({
      type: JobKindRef,
      description: 'What kind of work.',
      resolve: ({ kind }, _, context) => kindView(kind, context),
    }),
    tenant: t.field({
      type: TenantRef,
      description: "Whose work. The platform's own jobs, such as `cleanup_jobs`, belong to the tenant `platform`.",
      resolve: async ({ tenantId }, _, { loaders }) => (await loaders.tenants.load(tenantId))!,
    }),
    status: t.expose('status', { type: JobStatusRef, description: 'Where it is in its life.' }),
    priority: t.exposeInt('priority', { description: 'Lower runs first. Default 100.' }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The input of the work. Redacted paths are masked without `READ_PAYLOADS`.',
      directives: [{ name: 'cost', args: { weight: '2' } }],
      resolve: async (job, _, context) => (await shownPayload(job, context)).value,
    }),
    payloadText: t.string({
      nullable: true,
      description: 'The payload as stored text: numbers beyond 2^53 stay exact. Null without `READ_PAYLOADS`.',
      directives: [{ name: 'cost', args: { weight: '2' } }],
      resolve: ({ payloadText }, _, { caller }) => (caller?.scopes.has('READ_PAYLOADS') ? payloadText : null),
    }),
    payloadRedacted: t.boolean({
      description: 'Whether anything in `payload` is masked for this caller.',
      resolve: async (job, _, context) => (await shownPayload(job, context)).redacted,
    }),
    result: t.field({
      type: 'JSON',
      nullable: true,
      description: 'What the worker returned, if the kind returns something. Null without `READ_PAYLOADS`.',
      directives: [{ name: 'cost', args: { weight: '2' } }],
      resolve: ({ resultText }, _, { caller }) =>
        resultText !== null && caller?.scopes.has('READ_PAYLOADS') ? (JSON.parse(resultText) as unknown) : null,
    }),
    attemptCount: t.exposeInt('attempts', {
      description: 'How often it was claimed since it was enqueued or last replayed.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'At this many attempts a failure goes to the DLQ.' }),
    availableAt: t.expose('availableAt', { type: 'DateTime', description: 'Not claimed before this instant.' }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the next automatic attempt is due. Null unless PENDING after a failure.',
      resolve: (job) => (job.status === 'pending' && job.attempts > 0 ? job.availableAt : null),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was enqueued.' }),
    // The row keeps both after the end, for the journal's readers; an end is no claim.
    claimedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the present claim began.',
      resolve: ({ status, claimedAt }) => (status === 'running' ? claimedAt : null),
    }),
    claimedBy: t.field({
      type: WorkerRef,
      nullable: true,
      description: 'Who holds the claim.',
      resolve: ({ status, claimedBy }, _, { loaders }) =>
        status === 'running' && claimedBy !== null ? loaders.workersByName.load(claimedBy) : null,
    }),
    staleAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        "When recovery would take the claim back (claim time or last heartbeat, whichever is later, plus the kind's stale TTL).",
      resolve: async (job, _, context) => {
        if (job.status !== 'running' || job.claimedAt === null) return null
        const { staleAfterMs } = await kindView(job.kind, context)
        return new Date(Math.max(job.claimedAt.getTime(), job.heartbeatAt?.getTime() ?? 0) + staleAfterMs)
      },
    }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it reached DONE, DLQ or FAILED.',
    }),
    lastError: t.field({ type: JobErrorRef, nullable: true, description: 'The last failure.', resolve: lastFailure }),
    progress: t.field({
      type: JobProgressRef,
      nullable: true,
      description: 'Latest progress report of the running attempt.',
      resolve: ({ progress }) => progress,
    }),
    stop: t.field({
      type: JobStopRef,
      nullable: true,
      description: 'Why and by whom it was cancelled or stopped, or asked to be.',
      resolve: (job) => (job.stopCause === null ? null : job),
    }),
    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: true,
      description: "The caller's key that makes enqueueing idempotent.",
    }),
    tags: t.stringList({ description: 'Free labels for filtering.', resolve: ({ tags }) => tags ?? [] }),
    correlationId: t.exposeString('correlationId', {
      nullable: true,
      description: 'Ties the job to the request that caused it.',
    }),
    traceId: t.string({
      nullable: true,
      description: 'W3C trace id of the enqueueing request.',
      resolve: ({ traceContext }) => traceContext?.split('-')[1] ?? null,
    }),
    enqueuedBy: t.field({
      type: PrincipalRef,
      nullable: true,
      description: 'Who enqueued it.',
      resolve: ({ enqueuedBy }) => (enqueuedBy === null ? null : principalOf(enqueuedBy)),
    }),
    waitSeconds: t.float({
      nullable: true,
      description: 'Seconds from available to claimed.',
      resolve: ({ claimedAt, availableAt }) =>
        claimedAt === null ? null : Math.max(0, claimedAt.getTime() - availableAt.getTime()) / 1_000,
    }),
    runSeconds: t.float({
      nullable: true,
      description: 'Seconds in the present or last attempt.',
      resolve: ({ status, claimedAt, completedAt }) => {
        if (claimedAt === null) return null
        if (status === 'running') return secondsSince(claimedAt)
        return completedAt === null ? null : Math.max(0, completedAt.getTime() - claimedAt.getTime()) / 1_000
      },
    }),
    revision: t.exposeInt('revision', {
      description:
        'Goes up by one with every change that stands in its history: for `expectedRevision` and for dropping stale updates.',
    }),
    streamCursor: t.string({
      description:
        'Position of this read in the event stream: pass as `after` to the `job` subscription and miss nothing.',
      resolve: (job, _, { deps }) => deps.relay.jobCursor(job),
    }),
    allowedActions: t.field({
      type: [JobActionRef],
      description: 'What this caller may do with it now.',
      resolve: ({ status }, _, { caller }, { schema }) =>
        caller === null ? [] : allowedActions(status, caller).filter((action) => isOffered(action, schema)),
    }),
    events: t.field({
      type: JobEventConnectionRef,
      description: 'Everything that happened, oldest first.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: { first: t.arg.int({ required: true, defaultValue: 50 }), after: t.arg.string() },
      resolve: (job, args, context) => listJobEvents(job, args, context),
    }),
    attempts: t.field({
      type: JobAttemptConnectionRef,
      description: 'Every attempt, newest first.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
      resolve: (job, args, context) => listJobAttempts(job, args, context),
    }),
  }),
})

/** A button without its mutation would lead nowhere. */
function isOffered(action: JobAction, schema: GraphQLSchema): boolean {
  return schema.getMutationType()?.getFields()[mutationOf[action]] !== undefined
}
