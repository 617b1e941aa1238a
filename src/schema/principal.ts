import { scopes, type Principal } from '../jobs/permissions.ts'
import { principalName } from '../resolvers/principal-name.ts'
import { builder } from './builder.ts'

const scopeMeanings = {
  READ_JOBS: "See jobs, kinds, tenants, workers and statistics of one's tenants.",
  READ_PAYLOADS: 'See payloads and results unredacted.',
  ENQUEUE_JOBS: 'Enqueue jobs.',
  CONTROL_JOBS: "Cancel, reschedule and reprioritise jobs of one's tenants.",
  MANAGE_METADATA: 'Replay, discard, stop, pause, limits, suppressions: the administrator.',
  READ_AUDIT: 'Read the audit log and the email log.',
  OPERATE_PLATFORM: 'Act across all tenants and on the platform itself.',
} as const satisfies Record<(typeof scopes)[number], string>

export const ScopeRef = builder.enumType('Scope', {
  description: "What a caller may do. `MANAGE_METADATA` is the administrator's permission.",
  values: Object.fromEntries(scopes.map((scope) => [scope, { value: scope, description: scopeMeanings[scope] }])) as {
    [Name in (typeof scopes)[number]]: { value: Name; description: string }
  },
})

const PrincipalKindRef = builder.enumType('PrincipalKind', {
  description: 'What kind of identity acted.',
  values: {
    USER: { description: 'A signed-in person.' },
    SERVICE: { description: 'Another service.' },
    WORKER: { description: 'A worker of this service.' },
    SYSTEM: { description: 'The service itself, e.g. stale-claim recovery.' },
  } as const,
})

export const PrincipalRef = builder.objectRef<Principal>('Principal').implement({
  description: 'An identity that acts: a person, a service or a worker.',
  fields: (t) => ({
    id: t.exposeID('id', { description: "The identity provider's subject." }),
    name: t.string({
      nullable: true,
      description: 'Display name.',
      resolve: (principal, _args, context) => principalName(principal, context),
    }),
    kind: t.expose('kind', { type: PrincipalKindRef, description: 'Person, service, worker or system.' }),
  }),
})
