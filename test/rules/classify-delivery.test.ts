import { expect, test } from 'vitest'
import {
  classifyDelivery,
  parseReply,
  type DeliveryClass,
  type DeliveryFailure,
} from '../../src/jobs/classify-delivery.ts'

const answered = (
  reply: string,
  phase: DeliveryFailure['phase'] = 'envelope',
  command = 'RCPT TO',
  code = 'EENVELOPE',
) => classifyDelivery({ phase, code, command, reply: parseReply(reply) })

test.each<[string, DeliveryClass]>([
  ['421 4.3.2 shutting down', 'transient'],
  ['450 4.2.0 greylisted', 'transient'],
  ['450', 'transient'],
  ['451 4.3.0 try later', 'transient'],
  ['452 4.3.1 out of space', 'transient'],
  ['454 4.7.0 Throttling failure: Maximum sending rate exceeded.', 'throttled'],
  ['454 Throttling failure: Daily message quota exceeded.', 'throttled'],
  ['552 mailbox full', 'transient'],
  ['552 5.2.2 mailbox full', 'transient'],
  ['550 5.2.2 mailbox full', 'transient'],
  ['550 4.2.2 mailbox full', 'transient'],
  ['452 5.3.1 system full', 'transient'],
  ['554 5.4.5 too many today', 'transient'],
  ['550 5.5.3 too many recipients', 'transient'],
  ['550 5.1.1 no such user', 'recipient'],
  ['551 5.1.6 moved', 'recipient'],
  ['553 5.1.3 bad address', 'recipient'],
  ['554 5.1.2 bad domain', 'recipient'],
  ['550 5.2.1 disabled', 'recipient'],
  ['550 5.1.10 null MX', 'recipient'],
  ['556 domain takes no mail', 'recipient'],
  ['450 5.1.1 no such user', 'message'],
  ['550 no such user', 'message'],
  ['550 5.1.8 bad sender', 'message'],
  ['552 5.3.4 too large', 'message'],
  ['554 5.7.1 policy', 'message'],
  ['554 5.6.0 content', 'message'],
  ['500 5.5.2 what', 'message'],
  ['503 bad sequence', 'message'],
  ['530 5.7.0 authentication required', 'provider'],
  ['535 5.7.8 bad credentials', 'provider'],
  ['534 5.7.9 stronger mechanism needed', 'provider'],
  ['538 5.7.11 encryption required', 'provider'],
])('M02: %s is %s', (reply, expected) => {
  expect(answered(reply)).toBe(expected)
})

test("M02: an answer to the sender is never the recipient's fault", () => {
  expect(answered('550 5.1.0 sender refused', 'envelope', 'MAIL FROM')).toBe('message')
})

test('M02: an answer to the message is as certain as one to the recipient', () => {
  expect(answered('451 4.3.0 try later', 'data', 'DATA', 'EMESSAGE')).toBe('transient')
  expect(answered('550 5.1.1 no such user', 'data', 'DATA', 'EMESSAGE')).toBe('recipient')
  expect(answered('554 5.7.1 spam', 'data', 'DATA', 'EMESSAGE')).toBe('message')
})

test.each<[DeliveryFailure['phase'], string, string | null, DeliveryClass]>([
  ['connect', 'EPROTOCOL', '554 no service', 'provider'],
  ['connect', 'EPROTOCOL', '421 busy', 'transient'],
  ['connect', 'EAUTH', '535 5.7.8 no', 'provider'],
  ['connect', 'EAUTH', '454 4.7.0 Temporary authentication failure', 'provider'],
  ['connect', 'ETLS', null, 'provider'],
  ['connect', 'EDNS', null, 'provider'],
  ['connect', 'ESOCKET', null, 'provider'],
  ['connect', 'ETIMEDOUT', null, 'provider'],
  ['envelope', 'ETIMEDOUT', null, 'transient'],
  ['envelope', 'ECONNECTION', null, 'transient'],
  ['envelope', 'EMESSAGE', null, 'message'],
  ['envelope', 'EENVELOPE', null, 'message'],
  ['data', 'ETIMEDOUT', null, 'unknown'],
  ['data', 'ECONNECTION', null, 'unknown'],
  ['data', 'ESOCKET', null, 'unknown'],
  ['data', 'EMESSAGE', null, 'unknown'],
  ['data', 'EMESSAGE', '354 go on', 'unknown'],
  ['envelope', 'EENVELOPE', '354 go on', 'transient'],
])('M02: at %s, %s with the answer %s is %s', (phase, code, reply, expected) => {
  expect(classifyDelivery({ phase, code, command: null, reply: reply === null ? null : parseReply(reply) })).toBe(
    expected,
  )
})

test('a reply is read with its enhanced code, from its first line', () => {
  expect(parseReply('550-5.1.1 no such\r\n550 5.1.1 user')).toMatchObject({ code: 550, enhanced: '5.1.1' })
  expect(parseReply('550 5.1.1234 x')).toMatchObject({ code: 550, enhanced: null })
  expect(parseReply('what')).toBeNull()
})
