import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { isReachable, type WebhookReach } from '../../../jobs/webhook-address.ts'

/** The target lies where webhooks must not go: trying again does not help. */
export class TargetForbidden extends Error {
  override readonly name = 'TargetForbidden'
}

/** Finds all addresses of a name, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void

const connectMs = 3_000
const connectionsAHost = 4

/**
 * Connections that lead nowhere but to public addresses, or those allowed (FAULTS H01). Literal addresses never come by the lookup,
 * so they are looked at first; of a name every address must be reachable, and exactly those are connected to; who answered is
 * looked at once more.
 */
export function createWebhookAgent(
  reach: Pick<WebhookReach, 'allow'>,
  resolve: Resolve = resolveBySystem,
): Dispatcher & { close(): Promise<void>; destroy(): Promise<void> } {
  const lookup: LookupFunction = (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      if (error !== null) return done(error, '')
      if (!addresses.every(({ address }) => isReachable(address, reach))) return done(forbidden(hostname), '')
      const [wanted, ...others] = addresses.filter(({ family }) => !options.family || family === options.family)
      if (wanted === undefined)
        return done(Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' }), '')
      if (options.all) return done(null, [wanted, ...others])
      done(null, wanted.address, wanted.family)
    })
  }
  const connect = buildConnector({ timeout: connectMs, lookup, allowH2: false })

  return new Agent({
    connections: connectionsAHost,
    pipelining: 1,
    connect(options, done) {
      const hostname = options.hostname.replace(/^\[|\]$/g, '')
      if (isIP(hostname) !== 0 && !isReachable(hostname, reach)) return done(forbidden(hostname), null)
      connect(options, (error, socket) => {
        if (error !== null) return done(error, null)
        if (isReachable(socket.remoteAddress ?? '', reach)) return done(null, socket)
        socket.destroy()
        done(forbidden(hostname), null)
      })
    },
  })
}

function forbidden(hostname: string): TargetForbidden {
  return new TargetForbidden(
    `${hostname} has an address that is not public. STELLWERK_WEBHOOK_ALLOW lists ranges that may be reached all the same.`,
  )
}

const resolveBySystem: Resolve = (hostname, done) => systemLookup(hostname, { all: true }, done)
