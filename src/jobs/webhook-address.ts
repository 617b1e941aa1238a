import ipaddr from 'ipaddr.js'

/** Where webhooks may go (FAULTS H01). */
export interface WebhookReach {
  /** Ranges that may be reached although they are not public. */
  readonly allow: readonly string[]
  /** https only, ports 443 and 8443. */
  readonly strict: boolean
}

/** Whether this address may be connected to: a public one, or one in an allowed range. Anything that is no address may not. */
export function isReachable(address: string, { allow }: Pick<WebhookReach, 'allow'>): boolean {
  const parsed = parse(address)
  if (parsed === null) return false
  return isPublic(parsed) || allow.some((range) => isWithin(parsed, range))
}

/**
 * Null, or why a webhook may not go to this URL: the end of a sentence that begins with its name. Names are resolved and looked at
 * again whenever a connection is made.
 */
export function refuseWebhookUrl(text: string, reach: WebhookReach): string | null {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'is no https:// URL.'
  if (url.username !== '' || url.password !== '')
    return 'holds a user or password. Leave them out: receivers know us by the signature.'
  if (text.length > 2_000) return 'has more than 2,000 characters.'
  if (reach.strict && url.protocol !== 'https:') return 'must begin with https://, so that nobody reads along.'
  if (reach.strict && !['', '443', '8443'].includes(url.port)) return 'may name no port but 443 and 8443.'
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(literal) && !isReachable(literal, reach))
    return 'names an address that is not public. STELLWERK_WEBHOOK_ALLOW lists ranges that may be reached all the same.'
  return null
}

type Address = ReturnType<typeof ipaddr.parse>

/** An IPv4 address in IPv6's clothes is the IPv4 address. */
function parse(address: string): Address | null {
  const bare = address.replace(/%.*$/, '')
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null
}

/** Of IPv6 only what is given out for the open net (2000::/3): everything else leads inside, now or in some network. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || (address.toByteArray()[0]! & 0xe0) === 0x20
}

function isWithin(address: Address, range: string): boolean {
  const [base = '', bits] = range.split('/')
  const network = parse(base)
  if (network === null || network.kind() !== address.kind()) return false
  return address.match(network, bits === undefined ? (address.kind() === 'ipv4' ? 32 : 128) : Number(bits))
}
