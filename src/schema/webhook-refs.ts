import type { WebhookDeliveryRow, WebhookEndpointRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'

export const WebhookEndpointRef = builder.objectRef<WebhookEndpointRow>('WebhookEndpoint')
export const WebhookDeliveryRef = builder.objectRef<WebhookDeliveryRow>('WebhookDelivery')
