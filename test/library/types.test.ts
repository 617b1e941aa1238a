import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A project of its own that has taken `stellwerk` in by `npm install <folder>`, which makes a link. */
let project: string
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'stellwerk-project-'))
  await mkdir(join(project, 'node_modules'))
  await writeFile(join(project, 'package.json'), '{"type": "module"}')
  await symlink(root, join(project, 'node_modules/stellwerk'))
  for (const name of ['@types', 'pg'])
    await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name))
})
afterEach(() => rm(project, { recursive: true }))

/** What the compiler says. */
async function compile(source: string, options: readonly string[]): Promise<string> {
  await writeFile(join(project, 'kinds.ts'), source)
  const args = ['--strict', '--noEmit', '--types', 'node', ...options, 'kinds.ts']
  const run = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), args, { cwd: project })
  return run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
}

const source = `
import { Client } from 'pg'
import { createApp, defineKind, enqueue, NeverRetry, z } from 'stellwerk'

const words = defineKind({
  name: 'count_words',
  payload: z.object({ text: z.string() }),
  example: { text: 'all clear' },
  async run({ payload, progress, signal }) {
    signal.throwIfAborted()
    const count: number = payload.text.length
    await progress({ done: count, message: 'counted' })
    if (count === 0) throw new NeverRetry('no text')
    return { result: { count } }
  },
})
const app = await createApp({ settings: process.env, kinds: [words] })
const { databaseUrl } = await app.start()
await enqueue(new Client(databaseUrl), { kind: words, payload: { text: 'all clear' }, idempotencyKey: '1' })
`

test.each([
  ['--module', 'nodenext', '--target', 'es2023'],
  ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022', '--skipLibCheck'],
])('a project in TypeScript compiles by its own settings: %s %s %s %s', { timeout: 60_000 }, async (...options) => {
  expect(await compile(source, options)).toBe('')
})

test('what is wrong in it is said at its place, and nothing else', { timeout: 60_000 }, async () => {
  const wrong = source.replace('idempotencyKey', 'idempotencykey').replace('payload.text.length', 'payload.txt.length')
  const said = await compile(wrong, ['--module', 'nodenext', '--target', 'es2023'])
  expect(said.match(/^\S+\.ts\(\d+/gm)).toEqual(['kinds.ts(11', 'kinds.ts(19'])
})
