import { listWebhookDeliveries } from '../resolvers/list-webhook-deliveries.ts'
import { listWebhookEndpoints, shownNotifyEmail, shownUrl } from '../resolvers/list-webhook-endpoints.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'
import { WebhookDeliveryConnectionRef, WebhookDeliveryStatusRef } from './webhook-delivery.ts'
import { WebhookEndpointRef } from './webhook-refs.ts'

export const WebhookEndpointStatusRef = builder.enumType('WebhookEndpointStatus', {
  description: 'State of an endpoint.',
  values: {
    ACTIVE: { value: 'active', description: 'Receives.' },
    PAUSED: { value: 'paused', description: 'Held by an administrator.' },
    DISABLED: { value: 'disabled', description: 'Switched off after long failure or by its own 410.' },
  } as const,
})

WebhookEndpointRef.implement({
  description: 'A receiver of events.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `endpoint_${id}` }),
    tenant: t.field({
      type: TenantRef,
      description: 'Its tenant.',
      resolve: async ({ tenantId }, _, { loaders }) => (await loaders.tenants.load(tenantId))!,
    }),
    url: t.string({
      description: 'Where to. Its host alone without `READ_PAYLOADS`.',
      resolve: (endpoint, _, context) => shownUrl(endpoint, context),
    }),
    eventTypes: t.exposeStringList('eventTypes', { description: 'Event types it wants; `*` is all.' }),
    ordered: t.exposeBoolean('ordered', {
      description: 'Whether events of one aggregate come in order, one at a time.',
    }),
    status: t.expose('status', { type: WebhookEndpointStatusRef, description: 'State.' }),
    disabledReason: t.exposeString('disabledReason', { nullable: true, description: 'Why it was switched off.' }),
    consecutiveFailures: t.exposeInt('consecutiveFailures', { description: 'Failures since the last success.' }),
    notifyEmail: t.string({
      nullable: true,
      description: 'Who gets a mail when it is switched off by the service. Masked without `READ_PAYLOADS`.',
      resolve: (endpoint, _, context) => shownNotifyEmail(endpoint, context),
    }),
    deliveries: t.field({
      type: WebhookDeliveryConnectionRef,
      description: 'Its deliveries, newest first.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: {
        status: t.arg({ type: [WebhookDeliveryStatusRef] }),
        first: t.arg.int({ required: true, defaultValue: 20 }),
        after: t.arg.string(),
      },
      resolve: ({ id }, args, context) => listWebhookDeliveries(id, args, context),
    }),
  }),
})

builder.queryField('webhookEndpoints', (t) =>
  t.field({
    type: [WebhookEndpointRef],
    description: "Endpoints of the caller's tenants.",
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { tenantId: t.arg.id() },
    resolve: (_, args, context) => listWebhookEndpoints(args, context),
  }),
)
