import { waitReasons, type WaitReason } from '../resolvers/wait-reasons.ts'
import { builder } from './builder.ts'
import { JobRef } from './job-ref.ts'
import { QueuePauseRef } from './queue-pause.ts'

const WaitCodeRef = builder.enumType('WaitCode', {
  description: 'Why a due job waits.',
  values: {
    NOT_YET_DUE: { description: 'Its time has not come.' },
    PAUSED: { description: 'Its kind, its tenant or both are paused.' },
    RATE_LIMITED: { description: 'No rate-limit token, of the tenant or of the provider.' },
    CONCURRENCY_FULL: { description: 'As many as allowed of its kind or tenant are running.' },
    IN_LINE: { description: 'Other jobs come first: of other tenants in the round, or of its own tenant.' },
    NO_WORKER: { description: 'No living worker serves its kind and tenant.' },
    TENANT_INACTIVE: { description: 'Its tenant is not active.' },
  } as const,
})

const WaitReasonRef = builder.objectRef<WaitReason>('WaitReason').implement({
  description: 'One reason why a job waits.',
  fields: (t) => ({
    code: t.expose('code', { type: WaitCodeRef, description: 'Which reason.' }),
    message: t.exposeString('message', { description: 'For people, in English.' }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ends by itself, if that is known.',
    }),
    pause: t.expose('pause', { type: QueuePauseRef, nullable: true, description: 'The pause, for PAUSED.' }),
    position: t.exposeInt('position', {
      nullable: true,
      description: 'How many jobs come first, counted up to 1,000, for IN_LINE.',
    }),
  }),
})

builder.objectField(JobRef, 'waitReasons', (t) =>
  t.field({
    type: [WaitReasonRef],
    description: 'Why it is not running. Empty unless PENDING. Answered from the very predicates that the claim uses.',
    directives: [{ name: 'cost', args: { weight: '5' } }],
    resolve: (job, _, context) => waitReasons(job, context),
  }),
)
