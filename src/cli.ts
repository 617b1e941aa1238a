#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import type { App, Started } from './app.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { checkServer } from './db/check-server.ts'
import { migrate, migrationStatus } from './db/migrate.ts'
import { runningEmbedded, startEmbedded } from './db/embedded.ts'
import { meantName } from './jobs/nearest-name.ts'
import { createLog } from './observe/log.ts'
import { version } from './version.ts'

const usage = `stellwerk ${version}: job control on PostgreSQL

  stellwerk start              API, workers and maintenance in one process
  stellwerk worker             workers only (metrics and health stay)
  stellwerk api                API only
  stellwerk migrate            bring the database up to date
  stellwerk migrate --status   show which migrations are applied
  stellwerk key create         make an API key: --name, --scopes, --tenants (see stellwerk key --help)
  stellwerk version

Settings are environment variables: docs/settings.md.
`

interface Command {
  /** Those that it takes; null: it reads its own command line. */
  readonly options: readonly string[] | null
  readonly run: (given: readonly string[]) => Promise<void>
}

const commands = new Map<string, Command>([
  ['start', { options: [], run: () => serve({}) }],
  ['worker', { options: [], run: () => serve({ STELLWERK_API: 'off' }) }],
  ['api', { options: [], run: serveApi }],
  ['migrate', { options: ['--status'], run: runMigrate }],
  ['key', { options: null, run: runKey }],
  ['version', { options: [], run: async () => say(version) }],
  ['help', { options: [], run: async () => say(usage.trimEnd()) }],
])

/** A signal that comes twice within this time is one: npm hands Ctrl-C on once more. */
const sameSignalMs = 1_000

try {
  const [name = 'help', ...args] = process.argv.slice(2)
  const command = commands.get(name === '-h' ? 'help' : name.replace(/^--/, ''))
  if (command === undefined) throw new Error(`${unknown('command', name, [...commands.keys()])} See stellwerk help.`)
  const { options } = command
  if (options !== null && args.some((arg) => arg === '--help' || arg === '-h')) {
    say(usage.trimEnd())
    process.exit(0)
  }
  const stranger = options === null ? undefined : args.find((arg) => !options.includes(arg))
  // An option that is passed over would do something else than was asked for.
  if (stranger !== undefined)
    throw new Error(
      `${unknown(`option of ${name}`, stranger, options!)} Settings are environment variables: see stellwerk help.`,
    )
  await command.run(args)
} catch (error) {
  fail(error)
}

/**
 * Without pretenuring: where objects wait for a commit V8 takes them for old ones and makes the next ones old, which then die at once. A mutation of
 * a hundred jobs took 19 us a job for 15. Workers are a tenth slower without it.
 */
function serveApi(): Promise<void> {
  setFlagsFromString('--no-allocation-site-pretenuring')
  return serve({ STELLWERK_WORKERS: '0' })
}

async function serve(preset: Record<string, string>): Promise<void> {
  const config = loadConfig({ ...process.env, ...preset })
  const log = createLog({
    level: config.logLevel,
    format: config.env === 'development' && process.stdout.isTTY ? 'line' : 'json',
  })
  let app: App | null = null
  let signalledAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (signalledAt !== undefined && performance.now() - signalledAt < sameSignalMs) return
    if (signalledAt !== undefined) {
      app?.kill()
      process.exit(130)
    }
    signalledAt = performance.now()
    log.info({ signal }, 'stopping: what runs may end first; the same signal again ends it at once')
    Promise.resolve(app?.stop()).then(() => process.exit(0), fail)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'an error that nobody caught: the process ends')
    app?.kill()
    process.exit(1)
  })
  // Only where it is needed: it takes a second to load, and the other commands have nothing of it.
  const { createApp } = await import('./app.ts')
  app = createApp({ config, log, onLost: fail })
  const started = await app.start().catch((error: unknown) => {
    // Stopped while it was starting: that is no failure.
    if (signalledAt !== undefined) return undefined
    throw error
  })
  if (started !== undefined && config.env === 'development' && config.api) say(welcome(started))
}

/** Runs a command on the operator's database, or the embedded one, whether the service runs or not. */
async function onDatabase(config: Config, act: (url: string) => Promise<void>): Promise<void> {
  const running = config.database.directUrl ?? (await runningEmbedded(config.dataDir))
  const embedded = running === null ? await startEmbedded({ dataDir: config.dataDir }) : null
  try {
    const url = embedded?.url ?? running!
    const check = await checkServer(url)
    if (check.kind !== 'ready') throw new Error(check.message)
    await act(url)
  } finally {
    await embedded?.stop()
  }
}

async function runMigrate(args: readonly string[]): Promise<void> {
  await onDatabase(loadConfig(process.env), async (url) => {
    if (args.includes('--status')) {
      for (const row of await migrationStatus(url))
        say(`${row.name.padEnd(40)} ${row.state.padEnd(8)} ${row.appliedAt?.toISOString() ?? ''}`.trimEnd())
    } else {
      const { applied } = await migrate(url)
      say(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
    }
  })
}

/** The key alone goes to the standard output, so that a script can take it. */
async function runKey(args: readonly string[]): Promise<void> {
  const { keyUsage, makeKey, readKeyOrder } = await import('./key-command.ts')
  const order = readKeyOrder(args)
  if (order === null) return say(keyUsage.trimEnd())
  const config = loadConfig(process.env)
  await onDatabase(config, async (url) => {
    if (config.migrate) await migrate(url)
    say(await makeKey(url, order))
    const where = config.database.directUrl === null ? ` in the embedded database of ${config.dataDir}` : ''
    writeSync(
      2,
      `The key ${order.name} is made${where}. It cannot be shown again; an administrator revokes it by revokeApiKey.\n`,
    )
  })
}

function welcome({ url, tokenPath, hasMailbox }: Started): string {
  const headers = `-H "authorization: Bearer $(cat '${tokenPath?.replaceAll("'", String.raw`'\''`)}')" -H 'content-type: application/json'`
  const email = (schedule: string): string =>
    `mutation { enqueueJob(input: { job: { emailSend: { to: { address: \\"ada@example.org\\" }, content: { subject: \\"Hello\\", text: \\"It runs.\\" } } }${schedule} }) { outcome job { id status } errors { message } } }`
  const send = (schedule = ''): string => `curl ${url}/graphql ${headers} -d '{"query":"${email(schedule)}"}'`
  const watch = `curl -sN ${url}/graphql ${headers} -H 'accept: text/event-stream' -d '{"query":"subscription { job(id: \\"'$JOB'\\") { type event { type } job { status } } }"}'`
  return `
Stellwerk ${version} is ready.

  GraphiQL   ${url}/graphiql
  Token      ${tokenPath}${hasMailbox ? `\n  Mailbox    curl ${url}/dev/mailbox` : ''}

Send an email:

${send()}

Send one in two seconds, and watch it:

JOB=$(${send(', schedule: { after: \\"PT2S\\" }').replace('curl', 'curl -s')} | grep -o 'job_[0-9a-f-]*'); ${watch}
`
}

function unknown(what: string, name: string, known: readonly string[]): string {
  const nearest = meantName(name, known)
  return `Unknown ${what}: ${name}.${nearest === null ? '' : ` Did you mean ${nearest}?`}`
}

function say(text: string): void {
  writeSync(1, `${text}\n`)
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  writeSync(2, `${error instanceof ConfigError ? '' : 'stellwerk: '}${message}\n`)
  process.exit(1)
}
