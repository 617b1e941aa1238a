import { createHmac, randomBytes } from 'node:crypto'

/** How a signing secret is shown: this, then base64 of its bytes (Standard Webhooks 1.0). */
const prefix = 'whsec_'
const secretBytes = 32

/** A new signing secret, as its receiver gets to know it. */
export function drawWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

/**
 * The header `webhook-signature` (Standard Webhooks 1.0): HMAC-SHA256 over `id.timestamp.body`, one `v1,<base64>` a secret, newest
 * first. The body is exactly what is sent: a receiver that parses and writes it anew computes another one.
 */
export function signWebhook(id: string, timestampSeconds: number, body: string, secrets: readonly string[]): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(prefix.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
    })
    .join(' ')
}
