import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { leaveOut } from '../support/leave-out.ts'
import type { Service } from '../support/service.ts'
import { httpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { ask, enqueue } from '../start/ask.ts'
import { serviceForClients } from './service.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/clients.md'), 'utf8')

/** The blocks of a section of the page, in their order: what people copy is what runs here. */
function recipes(heading: string): string[] {
  const blocks: string[] = []
  let section = ''
  let block: string[] | null = null
  for (const line of page.split('\n')) {
    if (line.startsWith('```') && block === null) block = []
    else if (line.startsWith('```')) {
      if (section === heading) blocks.push(`${block!.join('\n')}\n`)
      block = null
    } else if (block !== null) block.push(line)
    else if (line.startsWith('#')) section = line.replace(/^#+ /, '')
  }
  return blocks
}

let service: Service
let end: () => Promise<void>
let folder: string | undefined
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  ;({ service, end } = await serviceForClients({ STELLWERK_KINDS: join(root, 'test/client/kinds.ts') }))
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-recipes-'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await file('package.json', '{ "type": "module" }')
  await file('socket.js', recipes('Other GraphQL clients')[0]!)
  env = { ...process.env, JOBS_URL: await service.url(), JOBS_TOKEN: await service.token() }
})
afterAll(async () => {
  await end?.()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

const file = async (name: string, text: string): Promise<string> => {
  const path = join(folder!, name)
  await writeFile(path, text)
  return path
}

test('plain fetch enqueues', async () => {
  const [text] = recipes('Plain fetch')
  const { stdout } = await run(process.execPath, [await file('fetch.js', text!)], { env })
  expect(stdout).toMatch(/^CREATED job_[0-9a-f-]{36}\n$/)
})

describe('@stellwerk/client as the page shows it, from the built package', () => {
  let built: string
  beforeAll(async () => {
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'client')])
    built = JSON.stringify(join(root, 'client/dist/index.js'))
  })
  const withPackage = (text: string): string => text.replace("'@stellwerk/client'", built)

  test('one job', async () => {
    const [text] = recipes('TypeScript: @stellwerk/client')
    const path = await file('one.ts', `${withPackage(text!)}\nconsole.log(status, lastError)\n`)
    const { stdout } = await run(process.execPath, [path], { env })
    expect(stdout).toMatch(/^SNAPSHOT {2}(PENDING|RUNNING|DONE)\n[\s\S]*DONE null\n$/)
  })

  test('many jobs', async () => {
    const dead = await Promise.all([1, 2, 3].map(() => enqueue(service, 'slow_provider')))
    const states = async () =>
      (await ask(service, 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { status } } }', { ids: dead })).text
    await until(async () => (await states()).split('DLQ').length === 4, 'all three are dead')
    const [, text] = recipes('TypeScript: @stellwerk/client')
    const path = await file('many.ts', withPackage(text!.replace('email_send', 'slow_provider')))
    const { stdout } = await run(process.execPath, [path], { env })
    const lines = stdout.trim().split('\n')
    expect(lines[0]).toBe('3 jobs slow_provider: 3')
    expect(lines).toContain('3 of 3 COMPLETED')
    expect(lines.at(-1)).toBe('3 replayed, 0 had moved on')
  })
})

describe('curl', () => {
  if (spawnSync('curl', ['--version']).status !== 0) return leaveOut('there is no curl')
  test('enqueues and watches', async () => {
    const [text] = recipes('curl')
    const { stdout } = await run('bash', ['-eu', await file('recipe.sh', text!)], { env })
    expect(stdout).toMatch(/SNAPSHOT[\s\S]*"status":"DONE"[\s\S]*event: complete/)
  })
})

describe('Python', () => {
  if (spawnSync('python3', ['--version']).status !== 0) return leaveOut('there is no python3')
  const [text] = recipes('Python')

  test('enqueues and watches', async () => {
    const { stdout } = await run('python3', [await file('recipe.py', text!)], { env })
    expect(stdout).toMatch(/^SNAPSHOT {2}(PENDING|RUNNING|DONE)\n/)
    expect(stdout).toMatch(/DONE\n$/)
  })

  test('cuts in between lose and double nothing', async () => {
    const watching = (id: string) =>
      file('cut.py', text!.replace('watch(enqueue(email, "welcome-python"))', `watch("${id}")`))
    await expectNoGap(async (id) => ['python3', await watching(id)])
  })
})

describe.each(['urql', 'Apollo Client'])('%s', (name) => {
  const idLine = 'const id = data.enqueueJob.job.id'
  const [text] = recipes(name)
  const source = name.replace(' ', '-').toLowerCase()

  test('asks, enqueues and watches', async () => {
    const { stdout } = await run(process.execPath, [await file(`${source}.js`, text!)], { env })
    expect(stdout).toMatch(/^development token\nCREATED\nSNAPSHOT {2}(PENDING|RUNNING|DONE)\n/)
    expect(stdout).toMatch(/DONE\nended\n$/)
  })

  test('cuts in between lose and double nothing', async () => {
    expect(text).toContain(idLine)
    await expectNoGap(async (id) => [
      process.execPath,
      await file(`${source}-cut.js`, text!.replace(idLine, `const id = '${id}'`)),
    ])
  })
})

/** Cuts a watching program off between transitions: each is told once all the same, and the program ends with the job. */
async function expectNoGap(commandFor: (id: string) => Promise<[program: string, script: string]>): Promise<void> {
  const proxy = await httpProxy(await service.url())
  onTestFinished(() => proxy.close())
  const { data } = await ask(
    service,
    `mutation { enqueueJob(input: { schedule: { after: "PT1H" }, job: { emailSend: { to: { address: "ada@example.org" }, content: { subject: "Hello", text: "Later." } } } }) { job { id } } }`,
  )
  const { id } = data.enqueueJob.job as { id: string }
  const [program, script] = await commandFor(id)
  const running = execFile(program, [script], { env: { ...env, JOBS_URL: new URL(proxy.url).origin } })
  onTestFinished(() => void running.kill())
  let said = ''
  running.stdout!.on('data', (part: string) => (said += part))
  running.stderr!.on('data', (part: string) => (said += part))
  const exited = new Promise((resolve) => running.once('close', resolve))
  await until(() => said.includes('SNAPSHOT'), 'the SNAPSHOT is there')
  const before = said.slice(0, said.indexOf('SNAPSHOT'))
  for (const priority of [1, 2, 3, 4]) {
    proxy.cut()
    const move =
      'mutation ($id: ID!, $p: Int!) { reprioritizeJob(input: { id: $id, priority: $p }) { errors { message } } }'
    await ask(service, move, { id, p: priority })
    await until(() => said.split('REPRIORITIZED').length - 1 === priority, `transition ${priority} is told`)
  }
  await ask(service, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { errors { message } } }', { id })
  await exited
  const told = said.slice(before.length).replace('ended\n', '').trim().split('\n')
  expect(told.map((line) => line.trim().replaceAll(/ +/g, ' '))).toEqual([
    'SNAPSHOT PENDING',
    ...Array.from({ length: 4 }, () => 'EVENT REPRIORITIZED PENDING'),
    'EVENT CANCELLED FAILED',
  ])
}
