import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { leaveOut } from '../support/leave-out.ts'
import type { Service } from '../support/service.ts'
import { httpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { ask } from '../start/ask.ts'
import { serviceForClients } from './service.ts'

const run = promisify(execFile)
const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
/** The one block of the page in this language. */
const recipe = (language: string): string => new RegExp('```' + language + '\n([\\s\\S]*?)```').exec(page)![1]!

let service: Service
let end: () => Promise<void>
let folder: string
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  ;({ service, end } = await serviceForClients())
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-recipes-'))
  env = { ...process.env, STELLWERK_URL: await service.url(), STELLWERK_TOKEN: await service.token() }
})
afterAll(async () => {
  await end?.()
  await rm(folder, { recursive: true, force: true })
})

const file = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

test('plain fetch enqueues', async () => {
  const { stdout } = await run(process.execPath, [await file('recipe.mjs', recipe('js'))], { env })
  expect(stdout).toMatch(/^CREATED job_[0-9a-f-]{36}\n$/)
})

test('@stellwerk/client as the page shows it, from the built package', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'client')])
  const built = JSON.stringify(join(root, 'client/dist/index.js'))
  const text = recipe('ts').replace("'@stellwerk/client'", built)
  const path = await file('recipe.ts', `${text}\nconsole.log(status, lastError)\n`)
  const { stdout } = await run(process.execPath, [path], { env })
  expect(stdout).toMatch(/^SNAPSHOT {2}(PENDING|RUNNING|DONE)\n[\s\S]*DONE null\n$/)
})

describe('curl', () => {
  if (spawnSync('curl', ['--version']).status !== 0) return leaveOut('there is no curl')
  test('enqueues and watches', async () => {
    const { stdout } = await run('bash', ['-eu', await file('recipe.sh', recipe('bash'))], { env })
    expect(stdout).toMatch(/SNAPSHOT[\s\S]*"status":"DONE"[\s\S]*event: complete/)
  })
})

describe('Python', () => {
  if (spawnSync('python3', ['--version']).status !== 0) return leaveOut('there is no python3')
  test('enqueues and watches', async () => {
    const { stdout } = await run('python3', [await file('recipe.py', recipe('python'))], { env })
    expect(stdout).toMatch(/^SNAPSHOT {2}(PENDING|RUNNING|DONE)\n/)
    expect(stdout).toMatch(/DONE\n$/)
  })

  test('a cut in between loses nothing', async () => {
    const proxy = await httpProxy(await service.url())
    const { data } = await ask(
      service,
      `mutation { enqueueJob(input: { schedule: { after: "PT1H" }, job: { emailSend: { to: { address: "ada@example.org" }, content: { subject: "Hello", text: "Later." } } } }) { job { id } } }`,
    )
    const { id } = data.enqueueJob.job as { id: string }
    const text = recipe('python').replace('watch(enqueue(email, "welcome-python"))', `watch("${id}")`)
    const running = execFile('python3', [await file('cut.py', text)], {
      env: { ...env, STELLWERK_URL: new URL(proxy.url).origin },
    })
    onTestFinished(() => void running.kill())
    let said = ''
    running.stdout!.on('data', (part: string) => (said += part))
    const exited = new Promise((resolve) => running.once('close', resolve))
    await until(() => said.includes('SNAPSHOT'), 'the SNAPSHOT is there')
    for (const priority of [1, 2, 3, 4]) {
      proxy.cut()
      const move =
        'mutation ($id: ID!, $p: Int!) { reprioritizeJob(input: { id: $id, priority: $p }) { errors { message } } }'
      await ask(service, move, { id, p: priority })
      await until(() => said.split('REPRIORITIZED').length - 1 === priority, `transition ${priority} is told`)
    }
    await ask(service, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { errors { message } } }', { id })
    await exited
    await proxy.close()
    expect(said.trim().split('\n')).toHaveLength(1 + 4 + 1)
    expect(said).toMatch(/FAILED\n$/)
  })
})
