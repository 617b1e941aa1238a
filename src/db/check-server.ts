import { Client } from 'pg'

/**
 * What a look at a database server finds: fit for Stellwerk; refusing for a reason that waiting does not mend; or not
 * to be reached now, which may pass. No message holds the password.
 */
export type ServerCheck =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }

/** The server is older than the oldest PostgreSQL that Stellwerk runs on. */
export class UnsupportedServer extends Error {
  override name = 'UnsupportedServer'
}

const OLDEST_MAJOR = 16
const CONNECT_WITHIN_MS = 10_000

/** Connects once and tells whether the server can be used. */
export async function checkServer(url: string): Promise<ServerCheck> {
  const client = clientFor(url)
  if (!client)
    return {
      kind: 'refused',
      message: 'DATABASE_URL is not a URL like postgresql://user:password@host:5432/database. Correct it.',
    }
  client.on('error', () => {})
  try {
    await client.connect()
    await assertSupported(client)
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if (!rows[0]?.standby) return { kind: 'ready' }
    return {
      kind: 'unreachable',
      message: `The database server at ${place(client)} is a standby and takes no writes yet.`,
    }
  } catch (error) {
    return explain(error, client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Throws UnsupportedServer when the connected server is too old. */
export async function assertSupported(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query<{ number: number; name: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as name`,
  )
  const found = rows[0]
  if (found && found.number >= OLDEST_MAJOR * 10_000) return
  throw new UnsupportedServer(
    `The database server runs PostgreSQL ${found?.name}, Stellwerk needs ${OLDEST_MAJOR} or newer. ` +
      'Upgrade it, or set DATABASE_URL to a newer one.',
  )
}

function clientFor(url: string): Client | null {
  try {
    new URL(url)
    return new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      query_timeout: CONNECT_WITHIN_MS,
      options: '-c timezone=UTC',
    })
  } catch {
    return null
  }
}

function explain(error: unknown, client: Client): ServerCheck {
  if (error instanceof UnsupportedServer) return { kind: 'refused', message: error.message }
  const code = (error as { code?: string }).code ?? ''
  const server = `The database server at ${place(client)}`
  if (code === '28P01')
    return refused(`${server} refuses the password of user "${client.user}" (${code}). Correct DATABASE_URL.`)
  if (code.startsWith('28')) {
    return refused(
      `${server} does not let user "${client.user}" in (${code}). Correct DATABASE_URL, or allow it in pg_hba.conf.`,
    )
  }
  if (code === '3D000') {
    return refused(`${server} has no database "${client.database}" (${code}). Create it, or correct DATABASE_URL.`)
  }
  if (code === '42501') {
    return refused(
      `${server} does not let user "${client.user}" connect to "${client.database}" (${code}). Grant CONNECT on it.`,
    )
  }
  const said = (error as Error).message.replaceAll('\n', ' ')
  if (/does not support SSL/.test(said) || /CERT|SELF_SIGNED|ALTNAME/.test(code)) {
    return refused(`${server} and DATABASE_URL do not agree on TLS (${code || said}). Correct sslmode in DATABASE_URL.`)
  }
  return { kind: 'unreachable', message: `${server} cannot be reached now (${code || said || 'no answer'}).` }
}

function refused(message: string): ServerCheck {
  return { kind: 'refused', message }
}

function place(client: Client): string {
  return client.host.startsWith('/') ? client.host : `${client.host}:${client.port}`
}
