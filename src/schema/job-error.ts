import type { JobFailure } from '../resolvers/job-failure.ts'
import { builder } from './builder.ts'

export const JobErrorRef = builder.objectRef<JobFailure>('JobError').implement({
  description: 'A failure, shortened and grouped.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'First line, at most 4 KiB.' }),
    name: t.exposeString('name', { nullable: true, description: 'Error class or code.' }),
    detail: t.string({
      nullable: true,
      description: 'Stack or detail. Null without `READ_PAYLOADS`.',
      resolve: (failure, _, context) => (context.caller?.scopes.has('READ_PAYLOADS') ? failure.detail(context) : null),
    }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Equal for failures of the same cause: numbers, ids and quoted text are ignored.',
    }),
    at: t.field({
      type: 'DateTime',
      description: 'When it happened.',
      resolve: (failure, _, context) => failure.at(context),
    }),
  }),
})
