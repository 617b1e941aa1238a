import { scopes, type Caller } from '../jobs/permissions.ts'
import { authorize, type Budget } from '../resolvers/context.ts'
import { listOwnTenants } from '../resolvers/list-tenants.ts'
import { builder } from './builder.ts'
import { PrincipalRef, ScopeRef } from './principal.ts'
import { TenantConnectionRef } from './tenant.ts'

const ApiBudgetRef = builder.objectRef<Budget>('ApiBudget').implement({
  description: "The caller's token bucket, in cost points.",
  fields: (t) => ({
    limit: t.exposeInt('limit', { description: 'Bucket size.' }),
    remaining: t.exposeInt('remaining', { description: 'Points left.' }),
    restoreRate: t.exposeFloat('perSecond', { description: 'Points restored per second.' }),
  }),
})

const ViewerRef = builder.objectRef<Caller>('Viewer').implement({
  description: 'The caller, as the server sees them.',
  fields: (t) => ({
    principal: t.expose('principal', { type: PrincipalRef, description: 'The identity behind the token.' }),
    scopes: t.field({
      type: [ScopeRef],
      description: 'What this caller may do.',
      resolve: (caller) => scopes.filter((scope) => caller.scopes.has(scope)),
    }),
    allTenants: t.boolean({
      description: 'Whether the caller may act for every tenant.',
      resolve: ({ tenantIds }) => tenantIds === 'all',
    }),
    tenants: t.field({
      type: TenantConnectionRef,
      description: 'The tenants the caller may act for.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
      resolve: (_, args, context) => listOwnTenants(args, context),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token ends. Streams close at this instant; re-authenticate before it.',
    }),
    budget: t.field({
      type: ApiBudgetRef,
      nullable: true,
      description: "The caller's remaining budget. Null: none is set.",
      resolve: (_, _args, context) => context.budget(),
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({ type: ViewerRef, description: 'The caller.', resolve: (_, _args, context) => authorize(context, []) }),
)
