import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

const sane = /^[\w.:-]{1,128}$/

/** The caller's `x-request-id` where it is a sane one, else a new id. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && sane.test(given) ? given : randomUUID()
}

/** The W3C header, where it is well formed. */
export function traceparentOf({ headers }: IncomingMessage): string | null {
  const given = headers['traceparent']
  return typeof given === 'string' && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(given) ? given : null
}

/** Where a request comes from: the nearest address that is not a trusted proxy's. */
export function createClientAddress(trustProxy: readonly string[]): (request: IncomingMessage) => string {
  const trusted = new BlockList()
  for (const range of trustProxy) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(prefix), family)
  }
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return ({ socket, headers }) => {
    const direct = plain(socket.remoteAddress ?? '')
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
    let address = direct
    while (isTrusted(address) && forwarded.length > 0) {
      const next = plain(forwarded.pop()!.trim())
      if (isIP(next) === 0) break
      address = next
    }
    return address
  }
}

/** An IPv4 client of an IPv6 socket. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')

/** Whether an address is this machine's own. */
export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
