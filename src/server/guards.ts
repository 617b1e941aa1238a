import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Authenticate } from './auth.ts'
import { isLoopback } from './request-facts.ts'
import { HttpError } from './send.ts'

interface MetricsGuard {
  readonly token: string | null
  readonly development: boolean
  readonly addressOf: (request: IncomingMessage) => string
}

/** With a token: who has it. Without: everybody in development, this machine alone in production. Throws HttpError. */
export function guardMetrics(request: IncomingMessage, { token, development, addressOf }: MetricsGuard): void {
  if (token !== null) {
    if (isSame(request.headers.authorization ?? '', `Bearer ${token}`)) return
    throw new HttpError(
      401,
      'UNAUTHENTICATED',
      'Metrics need the token of STELLWERK_METRICS_TOKEN, as `authorization: Bearer <token>`.',
      {
        'www-authenticate': 'Bearer',
      },
    )
  }
  // A proxy on this machine that is not trusted speaks for anybody.
  const isForwarded = request.headers['x-forwarded-for'] !== undefined && isLoopback(request.socket.remoteAddress ?? '')
  const isLocal = isLoopback(addressOf(request)) && !isForwarded
  if (development || isLocal) return
  throw new HttpError(
    403,
    'FORBIDDEN',
    'Metrics are for this machine alone until an operator sets STELLWERK_METRICS_TOKEN.',
  )
}

/**
 * For administrators alone. A browser that opens a page can send no bearer token, so that the token may also come as the
 * password of Basic authentication: here, and nowhere else. Throws HttpError or AuthError.
 */
export async function guardGraphiql({ headers }: IncomingMessage, authenticate: Authenticate): Promise<void> {
  const challenge = {
    'www-authenticate': 'Basic realm="Stellwerk: any name, an administrator\'s token as password", charset="UTF-8"',
  }
  const caller = await authenticate(asBearer(headers.authorization)).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'SERVICE_UNAVAILABLE') throw error
    return null
  })
  if (caller === null)
    throw new HttpError(401, 'UNAUTHENTICATED', "GraphiQL needs an administrator's token, as the password.", challenge)
  if (!caller.scopes.has('MANAGE_METADATA'))
    throw new HttpError(403, 'FORBIDDEN', 'GraphiQL needs the scope MANAGE_METADATA.')
}

function asBearer(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return authorization
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  return `Bearer ${pair.slice(pair.indexOf(':') + 1)}`
}

/** In constant time, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
