import { randomUUID } from 'node:crypto'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { Client, Pool, type QueryResultRow } from 'pg'
import { inject } from 'vitest'
import { TEMPLATE } from './test-server.ts'

/** A migrated database for one test file. */
export interface TestDatabase {
  readonly url: string
  readonly pool: Pool
  /** Runs a statement and answers its rows. */
  sql<Row extends QueryResultRow = QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Ends the pool and drops the database with whoever is still connected to it. */
  drop(): Promise<void>
}

/** Clones a database from the template on the newest server that Stellwerk supports, or on the oldest one. */
export async function testDatabase({ version = 18 }: { version?: 16 | 18 } = {}): Promise<TestDatabase> {
  const server = await serverUrl(version)
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copying files takes half the time of the default, which writes every page to the log.
  await once(server, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  const url = databaseUrl(server, name)
  const pool = new Pool({ connectionString: url, options: '-c timezone=UTC', max: 10 })
  pool.on('error', () => {})
  return {
    url,
    pool,
    async sql<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const { rows } = await pool.query<Row>(text, [...values])
      return rows
    },
    async drop() {
      await pool.end()
      await once(server, `drop database if exists ${name} with (force)`)
    },
  }
}

/** The URL of an empty database on the test server, for what makes its schema itself; dropped with the server. */
export async function emptyDatabase({ version = 18 }: { version?: 16 | 18 } = {}): Promise<string> {
  const server = await serverUrl(version)
  const name = `empty_${randomUUID().replaceAll('-', '')}`
  await once(server, `create database ${name}`)
  return databaseUrl(server, name)
}

/** The URL of the test server's own database, for statements about the server. */
export async function serverUrl(version: 16 | 18 = 18): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  get({ socketPath: inject('testServers'), path: `/${version}` }, (response) => {
    void text(response).then((said) => (response.statusCode === 200 ? resolve(said) : reject(new Error(said))))
  }).on('error', reject)
  return promise
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function once(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
