import type { IncomingMessage } from 'node:http'

/** Where a browser's request comes from: no page at all, one of ours, one that was allowed in, or another. */
export type Origin =
  | { readonly kind: 'none' | 'own' | 'foreign' }
  | { readonly kind: 'allowed'; readonly origin: string }

/** Judges the `Origin` header. A foreign one is never reflected and never served. */
export function createOriginOf(allowed: readonly string[]): (request: IncomingMessage) => Origin {
  const listed = new Map(allowed.map((origin) => [origin.toLowerCase(), origin]))
  return ({ headers }) => {
    const { origin, host } = headers
    if (origin === undefined) return { kind: 'none' }
    const known = listed.get(origin.toLowerCase())
    if (known !== undefined) return { kind: 'allowed', origin: known }
    return { kind: host !== undefined && hostOf(origin) === host.toLowerCase() ? 'own' : 'foreign' }
  }
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)
