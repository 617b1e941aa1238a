/** The library's face: what a module of job kinds, and a service that enqueues in its own transaction, import as `stellwerk`. */
export { z } from 'zod';
export type { App, Started } from './app.js';
export { NeverRetry, RetryLater, Snooze } from './jobs/errors.js';
export type { KindDefaults, KindSchedule } from './jobs/kind.js';
export { enqueue, type EnqueueJob, type EnqueueTransaction } from './sql/enqueue.js';
export type { Enqueued, EnqueueInput, EnqueueOutcome } from './sql/enqueue-job.js';
export { createApp, type CreateAppOptions } from './library.js';
export { defineEffect, type Effect } from './workers/effect.js';
export { defineKind, type KindDefinition, type OwnKind } from './workers/define-kind.js';
export type { FailureFollower, FailureOutcome, Handler, HandlerContext, HandlerResult, JobFacts, JobLog, JobTransaction, ProgressReport, } from './workers/handler.js';
