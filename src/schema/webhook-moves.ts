import { createWebhookEndpoint } from '../resolvers/create-webhook-endpoint.ts'
import { publishEvent, type PublishEventResult } from '../resolvers/publish-event.ts'
import { redeliverWebhooks } from '../resolvers/redeliver-webhooks.ts'
import { rotateWebhookSecret } from '../resolvers/rotate-webhook-secret.ts'
import { updateWebhookEndpoint } from '../resolvers/update-webhook-endpoint.ts'
import type { WebhookEndpointResult } from '../resolvers/webhook-endpoint-input.ts'
import { builder } from './builder.ts'
import { errorsOf } from './user-error.ts'
import { WebhookEndpointStatusRef } from './webhook-endpoint.ts'
import { WebhookEndpointRef } from './webhook-refs.ts'

const PublishEventInputRef = builder.inputType('PublishEventInput', {
  description:
    'An event to publish. Services that share the database insert a row into `mdm.aa_outbox_event` in their own transaction instead.',
  fields: (t) => ({
    tenantId: t.id({ description: 'Its tenant.' }),
    type: t.string({ required: true, description: 'Its type, e.g. `entity.updated`.' }),
    aggregateType: t.string({ description: 'What it is about.' }),
    aggregateId: t.string({ description: 'Which one.' }),
    payload: t.field({ type: 'JSON', required: true, description: 'Its content.' }),
  }),
})

const PublishEventPayloadRef = builder.objectRef<PublishEventResult>('PublishEventPayload').implement({
  description: 'Result of publishing.',
  fields: (t) => ({
    eventId: t.exposeID('eventId', { nullable: true, description: "The event's id." }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('publishEvent', (t) =>
  t.field({
    type: PublishEventPayloadRef,
    description: 'Publish an event.',
    directives: [
      { name: 'cost', args: { weight: '5' } },
      { name: 'requiresScopes', args: { scopes: [['ENQUEUE_JOBS']] } },
    ],
    args: { input: t.arg({ type: PublishEventInputRef, required: true }) },
    resolve: (_, { input }, context) => publishEvent(input, context),
  }),
)

const CreateWebhookEndpointInputRef = builder.inputType('CreateWebhookEndpointInput', {
  description: 'An endpoint to create.',
  fields: (t) => ({
    tenantId: t.id({ description: 'Its tenant.' }),
    url: t.string({ required: true, description: 'Where to: https, except where the settings allow more.' }),
    eventTypes: t.stringList({ required: true, description: 'Event types it wants; `*` is all.' }),
    ordered: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether events of one aggregate come in order.',
    }),
    notifyEmail: t.string({ description: 'Who gets a mail when the service switches it off.' }),
  }),
})

const UpdateWebhookEndpointInputRef = builder.inputType('UpdateWebhookEndpointInput', {
  description: 'An endpoint to change.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The endpoint.' }),
    url: t.string({ description: 'Where to.' }),
    eventTypes: t.stringList({ description: 'Event types it wants.' }),
    status: t.field({ type: WebhookEndpointStatusRef, description: 'ACTIVE or PAUSED.' }),
    notifyEmail: t.string({ description: 'Who gets a mail when the service switches it off; null: nobody.' }),
  }),
})

const WebhookEndpointPayloadRef = builder.objectRef<WebhookEndpointResult>('WebhookEndpointPayload').implement({
  description: 'Result of a change to an endpoint.',
  fields: (t) => ({
    endpoint: t.expose('endpoint', {
      type: WebhookEndpointRef,
      nullable: true,
      description: 'The endpoint as it is now.',
    }),
    secret: t.exposeString('secret', {
      nullable: true,
      description: 'The signing secret (`whsec_...`), shown this once when made or rotated.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('createWebhookEndpoint', (t) =>
  t.field({
    type: WebhookEndpointPayloadRef,
    description: 'Create an endpoint.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: CreateWebhookEndpointInputRef, required: true }) },
    resolve: (_, { input }, context) => createWebhookEndpoint(input, context),
  }),
)

builder.mutationField('updateWebhookEndpoint', (t) =>
  t.field({
    type: WebhookEndpointPayloadRef,
    description: 'Change an endpoint.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: UpdateWebhookEndpointInputRef, required: true }) },
    resolve: (_, { input }, context) => updateWebhookEndpoint(input, context),
  }),
)

builder.mutationField('rotateWebhookSecret', (t) =>
  t.field({
    type: WebhookEndpointPayloadRef,
    description: 'Make a new secret; the old one stays valid for 24 hours.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, args, context) => rotateWebhookSecret(args, context),
  }),
)

builder.mutationField('redeliverWebhooks', (t) =>
  t.field({
    type: WebhookEndpointPayloadRef,
    description: 'Deliver again what an endpoint missed since then.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { endpointId: t.arg.id({ required: true }), since: t.arg({ type: 'DateTime', required: true }) },
    resolve: (_, args, context) => redeliverWebhooks(args, context),
  }),
)
