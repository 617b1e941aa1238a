/**
 * Does what README.md tells a newcomer, in a fresh copy of what is committed, in a folder with a blank in its name:
 * the first command, the printed curl lines, a kind of one's own, and the end. Exits 1 at the first thing that is not as it says.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const readme = readFileSync('README.md', 'utf8')
const home = mkdtempSync(join(tmpdir(), 'stellwerk try '))
const children = new Set<ChildProcess>()

try {
  execFileSync('bash', ['-c', `git archive HEAD | tar -x -C '${home}'`])
  await install()
  const first = await startAsReadmeSays({})
  await sendAndWatch(first)
  await stop(first)
  console.log('ok: sent, watched, stopped')

  writeFileSync(join(home, 'kinds.ts'), codeBlock('ts'))
  const second = await startAsReadmeSays({ STELLWERK_KINDS: './kinds.ts' })
  await runOwnKind(second)
  await stop(second)
  console.log("ok: a kind of one's own ran")
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  for (const child of children) if (child.pid !== undefined) tryKill(-child.pid)
  await wait(500)
  rmSync(home, { recursive: true, force: true })
}

interface Service {
  readonly child: ChildProcess
  readonly output: () => string
}

/** The first command of the README is `npm ci && npm start`; the installation is timed apart from the start. */
async function install(): Promise<void> {
  const command = codeBlock('sh').split('\n')[0]
  if (command !== 'npm ci && npm start') throw new Error(`The first command of the README is ${command}.`)
  execFileSync('npm', ['ci'], { cwd: home, stdio: 'inherit' })
}

async function startAsReadmeSays(env: Record<string, string>): Promise<Service> {
  const child = spawn('npm', ['start'], {
    cwd: home,
    env: { ...process.env, PORT: '0', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let text = ''
  child.stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()))
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const service = { child, output: () => text }
  const startedAt = performance.now()
  await until(
    () => /is ready\./.test(text),
    () => `the service is not ready:\n${text}`,
    15_000,
  )
  console.log(`ok: ready after ${Math.round(performance.now() - startedAt)} ms`)
  return service
}

async function sendAndWatch(service: Service): Promise<void> {
  const [send, watch] = curlLines(service)
  const sent = JSON.parse(shell(send!)) as { data: { enqueueJob: { outcome: string; job: { id: string } } } }
  if (sent.data.enqueueJob.outcome !== 'CREATED')
    throw new Error(`The printed curl line answered ${JSON.stringify(sent)}.`)
  const mailbox = /curl (\S+\/dev\/mailbox)/.exec(service.output())![1]!
  await until(
    () => shell(`curl -s ${mailbox}`).includes('ada@example.org'),
    () => 'the mail is not in the mailbox',
  )
  const stream = shell(watch!)
  for (const status of ['PENDING', 'RUNNING', 'DONE'])
    if (!stream.includes(`"${status}"`)) throw new Error(`The printed watch line did not show ${status}:\n${stream}`)
}

async function runOwnKind(service: Service): Promise<void> {
  const [send] = curlLines(service)
  const query =
    'mutation { enqueueJob(input: { job: { custom: { kind: "count_words", payload: { text: "all clear ahead" } } } }) { outcome job { id } errors { message } } }'
  const sent = shell(send!.replace(/-d '.*'/, `-d '${JSON.stringify({ query })}'`))
  const id = /job_[0-9a-f-]{36}/.exec(sent)?.[0]
  if (id === undefined) throw new Error(`The own kind was not enqueued: ${sent}`)
  const look = send!.replace(/-d '.*'/, `-d '${JSON.stringify({ query: `{ job(id: "${id}") { status result } }` })}'`)
  await until(
    () => shell(look).includes('"DONE"'),
    () => `the own kind did not run: ${shell(look)}`,
  )
  if (!shell(look).includes('"words":3')) throw new Error(`The own kind has another result: ${shell(look)}`)
}

async function stop({ child, output }: Service): Promise<void> {
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  child.kill('SIGTERM')
  const code = await Promise.race([ended, wait(30_000, 'late' as const)])
  if (code !== 0) throw new Error(`SIGTERM ended it with ${code}:\n${output()}`)
}

function curlLines(service: Service): string[] {
  return service
    .output()
    .split('\n')
    .filter((line) => line.startsWith('curl ') || line.startsWith('JOB='))
    .map((line) => line.replace(/^curl /, 'curl -s '))
}

function shell(command: string): string {
  return execFileSync('bash', ['-c', command], { cwd: home, encoding: 'utf8', timeout: 20_000 })
}

function codeBlock(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readme)
  if (found === null) throw new Error(`The README has no ${language} block.`)
  return found[1]!
}

function tryKill(group: number): void {
  try {
    process.kill(group, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

async function until(condition: () => boolean, what: () => string, withinMs = 10_000): Promise<void> {
  for (const end = performance.now() + withinMs; !condition(); await wait(50))
    if (performance.now() > end) throw new Error(`Within ${withinMs} ms: ${what()}`)
}
