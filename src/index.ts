/** The library's face: what a module of job kinds, and a service that enqueues in its own transaction, import as `stellwerk`. */
export { z } from 'zod'
export type { App, Started } from './app.ts'
export { NeverRetry, RetryLater, Snooze } from './jobs/errors.ts'
export type { KindDefaults, KindSchedule } from './jobs/kind.ts'
export { enqueue, type EnqueueJob, type EnqueueTransaction } from './sql/enqueue.ts'
export type { Enqueued, EnqueueInput, EnqueueOutcome } from './sql/enqueue-job.ts'
export { createApp, type CreateAppOptions } from './library.ts'
export { defineEffect, type Effect } from './workers/effect.ts'
export { defineKind, type KindDefinition, type OwnKind } from './workers/define-kind.ts'
export type {
  FailureFollower,
  FailureOutcome,
  Handler,
  HandlerContext,
  HandlerResult,
  JobFacts,
  JobLog,
  JobTransaction,
  ProgressReport,
} from './workers/handler.ts'
