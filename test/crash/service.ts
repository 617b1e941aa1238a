import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { until } from '../support/until.ts'

/** The real service as a process of its own. */
export interface Service {
  readonly pid: number
  readonly dataDir: string
  readonly exited: Promise<Exit>
  /** Whether the process still runs, as far as this one has heard. */
  runs(): boolean
  /** Resolves when it has told that it is started; throws with its output if it ends before. */
  started(): Promise<void>
  signal(name: NodeJS.Signals): void
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
  readonly command: 'start' | 'worker'
  readonly dataDir: string
  readonly settings: Readonly<Record<string, string>>
}

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const startWithinMs = 30_000
const living = new Set<() => void>()
process.once('exit', () => living.forEach((kill) => kill()))

/** Starts `stellwerk start` or `stellwerk worker` with these settings and none of the caller's own. */
export function startService({ command, dataDir, settings }: ServiceOptions): Service {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, [cli, command], {
    env: { PATH, HOME, TMPDIR, STELLWERK_DATA_DIR: dataDir, ...settings } as NodeJS.ProcessEnv,
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
  return {
    pid: child.pid!,
    dataDir,
    exited,
    said,
    runs: () => ended === undefined,
    output: () => text,
    signal: (name) => void child.kill(name),
    async started() {
      await until(() => said('started') > 0 || ended, 'the service has started', startWithinMs)
      if (said('started') === 0) throw new Error(`The service ended with ${ended!.code ?? ended!.signal}:\n${text}`)
    },
  }
}
