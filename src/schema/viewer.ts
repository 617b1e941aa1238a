import { scopes, type Caller } from '../jobs/permissions.ts'
import { authorize } from '../resolvers/context.ts'
import { listOwnTenants } from '../resolvers/list-tenants.ts'
import { builder } from './builder.ts'
import { PrincipalRef, ScopeRef } from './principal.ts'
import { TenantConnectionRef } from './tenant.ts'

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
  }),
})

builder.queryField('viewer', (t) =>
  t.field({ type: ViewerRef, description: 'The caller.', resolve: (_, _args, context) => authorize(context, []) }),
)
