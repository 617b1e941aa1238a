/** How an attempt to hand an email over failed. */
export interface DeliveryFailure {
  /** How far the conversation had come: connecting and logging in, sender and recipient, or the message itself. */
  readonly phase: 'connect' | 'envelope' | 'data'
  /** What the mail library or the system calls it, e.g. ETIMEDOUT, EAUTH, ETLS. */
  readonly code: string
  /** Which command the server answered, e.g. `RCPT TO`; null: none. */
  readonly command: string | null
  /** The server's answer; null: none came. */
  readonly reply: Reply | null
}

export interface Reply {
  readonly code: number
  /** RFC 3463, e.g. `5.1.1`; null: the server gave none. */
  readonly enhanced: string | null
  readonly text: string
}

/**
 * What follows from it:
 * transient: this mail later, the attempt counts · throttled: the provider asks for less, nobody's attempt ·
 * provider: no mail at all can be handed over now, nobody's attempt · unknown: the provider may have taken it ·
 * recipient: this address never, suppress it · message: this mail never, not the recipient's fault.
 */
export type DeliveryClass = 'transient' | 'throttled' | 'provider' | 'unknown' | 'recipient' | 'message'

/** Full mailboxes and systems: called permanent, gone tomorrow. */
const softCodes = new Set(['5.2.2', '5.3.1', '5.4.5', '5.5.3'])
/** What is wrong with the sender's address, although it begins like the recipient's. */
const senderCodes = new Set(['5.1.7', '5.1.8'])

/** Sorts a failure (KINDS section 2). The enhanced code wins over the three digits: 552 5.2.2 is a full mailbox. */
export function classifyDelivery({ phase, code, command, reply }: DeliveryFailure): DeliveryClass {
  if (code === 'ETLS' || code === 'EAUTH') return isThrottling(reply) ? 'throttled' : 'provider'
  if (reply === null) return classifySilence(phase, code)
  // Neither yes nor no: after the message nobody can tell.
  if (reply.code < 400) return phase === 'data' ? 'unknown' : 'transient'
  if ([530, 534, 535, 538].includes(reply.code)) return 'provider'
  if (isThrottling(reply)) return 'throttled'
  const permanent = (reply.enhanced?.[0] ?? String(reply.code)[0]) === '5'
  if (phase === 'connect') return permanent || reply.code === 454 ? 'provider' : 'transient'
  if (!permanent) return 'transient'
  if (reply.enhanced === null ? reply.code === 552 : softCodes.has(reply.enhanced)) return 'transient'
  return isRecipientsFault(reply, command) ? 'recipient' : 'message'
}

/** Reads a reply line such as `550 5.1.1 No such user`; null when it is none. */
export function parseReply(text: string): Reply | null {
  const parts = /^(\d{3})(?:[ -](\d\.\d{1,3}\.\d{1,3})\b)?/.exec(text)
  return parts === null ? null : { code: Number(parts[1]), enhanced: parts[2] ?? null, text }
}

function classifySilence(phase: DeliveryFailure['phase'], code: string): DeliveryClass {
  switch (phase) {
    case 'connect':
      return 'provider'
    case 'envelope':
      // Refused on this side: an address or a size that cannot be.
      return code === 'EENVELOPE' || code === 'EMESSAGE' ? 'message' : 'transient'
    case 'data':
      return 'unknown'
  }
}

/** SES: 454 Throttling failure: Maximum sending rate, or daily message quota, exceeded. */
function isThrottling(reply: Reply | null): boolean {
  return reply?.code === 454 && /throttl|rate|quota/i.test(reply.text)
}

function isRecipientsFault({ code, enhanced }: Reply, command: string | null): boolean {
  if (command === 'MAIL FROM') return false
  if (code === 556) return true
  if (![550, 551, 553, 554].includes(code) || enhanced === null) return false
  return enhanced === '5.2.1' || (enhanced.startsWith('5.1.') && !senderCodes.has(enhanced))
}
