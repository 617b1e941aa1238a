import type { JobRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'

/** The type `Job`; what it looks like stands in job.ts. Apart from it, so that what a job refers to can refer to jobs. */
export const JobRef = builder.objectRef<JobRow>('Job')
