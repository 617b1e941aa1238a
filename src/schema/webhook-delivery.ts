import { eventPayloadText } from '../resolvers/list-webhook-deliveries.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { WebhookDeliveryRef, WebhookEndpointRef } from './webhook-refs.ts'

export const WebhookDeliveryStatusRef = builder.enumType('WebhookDeliveryStatus', {
  description: 'State of a delivery.',
  values: {
    PENDING: { value: 'pending', description: 'Waits or is being tried.' },
    DELIVERED: { value: 'delivered', description: 'Taken by the receiver.' },
    DEAD: { value: 'dead', description: 'Given up: its job is in the DLQ.' },
    HELD: { value: 'held', description: 'Its endpoint is not active.' },
    CANCELLED: { value: 'cancelled', description: 'Not wanted any more.' },
  } as const,
})

WebhookDeliveryRef.implement({
  description: 'One event on its way to one endpoint.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `delivery_${id}` }),
    endpoint: t.field({
      type: WebhookEndpointRef,
      description: 'The endpoint.',
      resolve: async ({ endpointId }, _, { loaders }) => (await loaders.webhookEndpoints.load(endpointId))!,
    }),
    eventId: t.exposeID('eventId', { description: "The event: the receiver's key against doubles." }),
    eventType: t.exposeString('eventType', { description: 'Its type.' }),
    payloadText: t.string({
      nullable: true,
      description:
        'What the event says, as stored text; the way to a payload that was too long for its webhook. Null without `READ_PAYLOADS`, and when the event is gone.',
      directives: [{ name: 'cost', args: { weight: '5' } }],
      resolve: (delivery, _, context) => eventPayloadText(delivery, context),
    }),
    status: t.expose('status', { type: WebhookDeliveryStatusRef, description: 'State.' }),
    attemptCount: t.exposeInt('attempts', { description: 'Attempts so far.' }),
    lastStatus: t.exposeInt('lastStatus', { nullable: true, description: 'Last HTTP status.' }),
    lastError: t.exposeString('lastError', { nullable: true, description: 'Last failure.' }),
    deliveredAt: t.expose('deliveredAt', { type: 'DateTime', nullable: true, description: 'When it was taken.' }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'Its job.',
      resolve: ({ jobId }, _, { loaders }) => (jobId === null ? null : loaders.jobs.load(jobId)),
    }),
  }),
})

export const WebhookDeliveryConnectionRef = connectionOf(WebhookDeliveryRef, { one: 'delivery', many: 'deliveries' })
