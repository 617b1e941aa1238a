import { listDeadLetters } from '../resolvers/list-dead-letters.ts'
import { builder } from './builder.ts'
import { JobFilterRef } from './job-filter.ts'
import { JobConnectionRef } from './jobs.ts'
import { selects } from './selects.ts'

builder.queryField('deadLetters', (t) =>
  t.field({
    type: JobConnectionRef,
    description: 'The dead-letter queue, latest death first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first', 'last'], assumedSize: 20 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: {
      filter: t.arg({ type: JobFilterRef, description: 'Narrow down. `status` is ignored.' }),
      first: t.arg.int({ description: 'Page size, forward.' }),
      after: t.arg.string({ description: 'Continue after this cursor.' }),
      last: t.arg.int({ description: 'Page size, backward.' }),
      before: t.arg.string({ description: 'Continue before this cursor.' }),
    },
    resolve: (_, args, context, info) =>
      listDeadLetters({ ...args, streamCursor: selects(info, 'streamCursor') }, context),
  }),
)
