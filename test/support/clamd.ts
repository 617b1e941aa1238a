import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

const places = ['/usr/sbin/clamd', '/usr/local/sbin/clamd', '/opt/homebrew/sbin/clamd', '/usr/bin/clamd']
const program = places.find((path) => existsSync(path))

/** Why there is no clamd to test with; null: there is one. In CI there has to be. */
export const clamdMissing: string | null =
  program === undefined && process.env['CI'] !== 'true' ? 'clamd is not on this machine (Debian: clamav-daemon)' : null

/** The text that every scanner takes for a virus, by agreement of their makers. Put together here, so that no scanner takes this file for one. */
export const eicar = Buffer.from(
  ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST', '-FILE!$H+H*'].join(''),
)

/** A real clamd with two signatures of its own, which starts in a tenth of a second. */
export interface TestClamd {
  /** For CLAMD_URL. */
  readonly url: string
  /** Ends it, as a crash would; start() brings it back at the same place. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Freezes it: it takes connections and says nothing. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/** The sizes are small, so that tests can pass them. MaxFileSize above MaxScanSize is what lets clamd tell of a zip member that it cuts off. */
const limits = { StreamMaxLength: '64M', MaxFileSize: '64M', MaxScanSize: '60M', MaxRecursion: '17' }

export async function startClamd(settings: Readonly<Record<string, string>> = {}): Promise<TestClamd> {
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-clamd-'))
  const socket = join(folder, 'socket')
  const signatures = join(folder, 'signatures')
  await mkdir(signatures)
  await writeFile(join(signatures, 'test.hdb'), `${md5(eicar)}:${eicar.length}:Eicar-Test\n`)
  await writeFile(join(signatures, 'test.ndb'), `Eicar-Body:0:*:${eicar.toString('hex')}\n`)
  const config = join(folder, 'clamd.conf')
  const lines = Object.entries({
    LocalSocket: socket,
    DatabaseDirectory: signatures,
    TemporaryDirectory: folder,
    Foreground: 'yes',
    SelfCheck: '0',
    User: userInfo().username,
    AlertExceedsMax: 'yes',
    AlertEncrypted: 'yes',
    MaxScanTime: '25000',
    MaxThreads: '4',
    ...limits,
    ...settings,
  }).map(([name, value]) => `${name} ${value}\n`)
  await writeFile(config, lines.join(''))

  let running: { kill(signal: NodeJS.Signals): void; readonly exited: Promise<unknown> } | undefined
  const start = async (): Promise<void> => {
    const child = spawn(program ?? 'clamd', ['--config-file', config], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (output += part))
    let ended = false
    const exited = new Promise<void>((resolve) => {
      const end = (): void => {
        ended = true
        resolve()
      }
      child.once('exit', end)
      child.once('error', (error) => {
        output += error.message
        end()
      })
    })
    const onExit = (): void => void child.kill('SIGKILL')
    process.once('exit', onExit)
    void exited.then(() => process.off('exit', onExit))
    running = { kill: (signal) => void child.kill(signal), exited }
    await until(async () => {
      if (ended) throw new Error(`clamd ended:\n${output}`)
      return answers(socket)
    }, 'clamd answers')
  }
  const kill = async (): Promise<void> => {
    running?.kill('SIGCONT')
    running?.kill('SIGKILL')
    await running?.exited
    await rm(socket, { force: true })
  }
  await start()
  return {
    url: `unix://${socket}`,
    start,
    kill,
    freeze: () => running!.kill('SIGSTOP'),
    thaw: () => running!.kill('SIGCONT'),
    async stop() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')

async function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write('zPING\0'))
    socket
      .once('data', () => resolve(true))
      .once('error', () => resolve(false))
      .once('close', () => resolve(false))
    socket.once('data', () => socket.destroy())
  })
}
