import { emailSendPayload } from '../email-send-payload.ts'
import { day, hour, minute, second, standardDefaults, type JobKind } from '../kind.ts'

export const emailSend = {
  name: 'email_send',
  description: 'Sends one email to one recipient through the configured provider.',
  payload: emailSendPayload,
  example: {
    to: { address: 'ada@example.org', name: 'Ada' },
    content: { subject: 'Welcome', text: 'Hello Ada.' },
    category: 'transactional',
  },
  redact: ['/to', '/content', '/template/variables', '/reply_to', '/headers'],
  defaults: {
    ...standardDefaults,
    priority: 50,
    backoff: { baseMs: 30 * second, maxMs: 6 * hour, jitter: 0.1 },
    timeoutMs: minute,
    staleAfterMs: 5 * minute,
    retentionMs: 30 * day,
    rateLimit: { rps: 10, burst: 20 },
    provider: 'smtp',
  },
  inputField: 'emailSend',
  schedule: null,
} as const satisfies JobKind
