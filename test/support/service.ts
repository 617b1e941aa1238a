import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

/** The real service as a process of its own. */
export interface Service {
  readonly pid: number
  readonly dataDir: string
  readonly exited: Promise<Exit>
  /** Whether the process still runs, as far as this one has heard. */
  runs(): boolean
  /** Resolves when it has told that it is started; throws with its output if it ends before. */
  started(): Promise<void>
  /** Where it listens, known before it is ready; throws with its output if it ends before. */
  url(): Promise<string>
  /** The development token; only after the start. */
  token(): Promise<string>
  signal(name: NodeJS.Signals): void
  /** SIGTERM, and how it ended. */
  stop(): Promise<Exit>
  /** How many of its log lines carry this message. */
  said(message: string): number
  output(): string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly at: number
}

interface ServiceOptions {
  /** `start` unless given. */
  readonly args?: readonly string[]
  readonly dataDir: string
  readonly settings?: Readonly<Record<string, string>>
}

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const startWithinMs = 30_000
const living = new Set<() => void>()
process.once('exit', () => living.forEach((kill) => kill()))

/** Runs `stellwerk` with these settings and none of the caller's own, on any free port. */
export function startService({ args = ['start'], dataDir, settings = {} }: ServiceOptions): Service {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH, HOME, TMPDIR, PORT: '0', STELLWERK_DATA_DIR: dataDir, ...settings } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = (): void => void child.kill('SIGKILL')
  living.add(kill)
  let text = ''
  let ended: Exit | undefined
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      living.delete(kill)
      ended = { code, signal, at: performance.now() }
      resolve(ended)
    })
  })
  const said = (message: string): number => text.split(`"msg":"${message}"`).length - 1
  const orItsEnd = async <Value>(what: string, found: () => Value | Promise<Value>) => {
    const value = await until(async () => (await found()) || ended, what, startWithinMs)
    if (value === ended) throw new Error(`The service ended with ${ended!.code ?? ended!.signal}:\n${text}`)
    return value as Exclude<Value, null | undefined | false | 0 | ''>
  }
  return {
    pid: child.pid!,
    dataDir,
    exited,
    said,
    runs: () => ended === undefined,
    output: () => text,
    signal: (name) => void child.kill(name),
    async started() {
      await orItsEnd('the service has started', () => said('started') > 0)
    },
    async url() {
      const port = await orItsEnd('the service listens', () => portOf(dataDir, child.pid!))
      return `http://127.0.0.1:${port}`
    },
    async token() {
      return (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim()
    },
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

/** Runs a command that ends by itself. */
export async function runService(
  options: ServiceOptions,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const service = startService(options)
  const { code } = await service.exited
  return { code, output: service.output() }
}

/** From the run file, where it is of this process. */
async function portOf(dataDir: string, pid: number): Promise<number | null> {
  const text = await readFile(join(dataDir, 'run.json'), 'utf8').catch(() => '{}')
  const record = JSON.parse(text) as { pid?: number; port?: number | null }
  return record.pid === pid ? (record.port ?? null) : null
}
