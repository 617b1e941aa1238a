import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Modules are loaded as the service does it: by Node.js itself. This one reads paths, and answers a line of JSON for each. */
const loader = `
  import { createInterface } from 'node:readline'
  import { loadKinds } from ${JSON.stringify(new URL('../../src/workers/load-kinds.ts', import.meta.url).href)}
  import { NeverRetry } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
  for await (const file of createInterface({ input: process.stdin })) {
    try {
      const kinds = await loadKinds(file)
      const thrown = await Promise.all(kinds.map(({ run }) => run({ payload: {} }).catch((error) => error instanceof NeverRetry)))
      console.log(JSON.stringify({ kinds, thrown }))
    } catch (error) {
      console.log(JSON.stringify({ refused: error.name + ': ' + error.message }))
    }
  }`

interface Loaded {
  readonly refused?: string
  readonly kinds?: readonly { readonly name: string }[]
  readonly thrown?: readonly unknown[]
}

let folder: string
let child: ChildProcessByStdio<Writable, Readable, null>
let answers: AsyncIterator<string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk kinds-'))
  child = spawn(process.execPath, ['--input-type=module', '-e', loader], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
})
afterAll(async () => {
  child.stdin.end()
  await rm(folder, { recursive: true, force: true })
})

async function load(name: string, source: string): Promise<Loaded> {
  const file = join(folder, name)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, source)
  return loadFile(file)
}

async function loadFile(file: string): Promise<Loaded> {
  child.stdin.write(`${file}\n`)
  const { value } = await answers.next()
  return JSON.parse(value) as Loaded
}

const typeScript = `
import { defineKind, z, NeverRetry, type HandlerResult } from 'stellwerk'
import { z as own } from 'zod'
import { helper } from './helper.ts'
export const kinds = [defineKind({
  name: 'resize_image',
  payload: z.object({ url: own.url() }),
  example: { url: 'https://example.org/a.png' },
  async run(): Promise<HandlerResult> { throw new NeverRetry(helper as string) },
})]`

test('a TypeScript module anywhere finds stellwerk and zod, and throws the very errors that the service knows', async () => {
  await writeFile(join(folder, 'helper.ts'), `export const helper: string = 'x'`)
  const { kinds, thrown } = await load('kinds.ts', typeScript)
  expect(kinds).toMatchObject([{ name: 'resize_image' }])
  expect(thrown).toEqual([true])
  await symlink(join(folder, 'kinds.ts'), join(folder, 'link.ts'))
  expect((await loadFile('link.ts')).kinds).toHaveLength(1)
})

test.each([
  [
    'kinds.js',
    `import { defineKind, z } from 'stellwerk'\nexport const kinds = [defineKind({ name: 'a', payload: z.object({}), async run() {} })]`,
  ],
  ['kinds.mjs', `import { z } from 'zod'\nexport const kinds = [{ name: 'a', payload: z.object({}), async run() {} }]`],
  [
    'kinds.cjs',
    `const { defineKind } = require('stellwerk')\nconst { z } = require('zod')\nmodule.exports = { kinds: [defineKind({ name: 'a', payload: z.object({}), async run() {} })] }`,
  ],
  [
    'node_modules/own/kinds.js',
    `import { defineKind, z } from 'stellwerk'\nexport const kinds = [defineKind({ name: 'a', payload: z.object({}), async run() {} })]`,
  ],
  ['none.ts', 'export const kinds = []'],
])('%s is loaded', async (name, source) => {
  expect((await load(name, source)).kinds).toBeInstanceOf(Array)
})

test.each([
  ['syntax.ts', 'export const kinds = [;', 'cannot be parsed: ', 'syntax.ts:1)'],
  ['syntax.js', 'export const kinds = [;', "cannot be parsed: Unexpected token ';'", 'Correct it.'],
  ['enum.ts', 'enum A { B }\nexport const kinds = []', 'TypeScript enum is not supported', 'compile it to .js'],
  ['named.ts', 'export const kindz = []', 'has no export `kinds` (it exports kindz)', 'Write `export const kinds'],
  ['empty.js', '', 'has no export `kinds` (it exports nothing)', 'Write `export const kinds'],
  ['one.ts', 'export const kinds = {}', 'not as a list', 'Write `export const kinds'],
  [
    'throws.ts',
    'const x: any = null\nexport const kinds = [x.y]',
    'failed when it was imported: TypeError',
    'throws.ts:2)',
  ],
  ['text.js', `throw 'no'\n`, 'failed when it was imported: Error: no', 'unset STELLWERK_KINDS'],
  [
    'later.js',
    `await Promise.reject(new Error('no'))\nexport const kinds = []`,
    'failed when it was imported: Error: no',
    'later.js:1)',
  ],
  [
    'package.ts',
    `import 'no-such-package'\nexport const kinds = []`,
    "imports what is not there: Cannot find package 'no-such-package'",
    'Install it',
  ],
  ['file.ts', `import './no-such-file.ts'\nexport const kinds = []`, 'imports what is not there', 'correct the path'],
  [
    'face.ts',
    `import { nothing } from 'stellwerk'\nexport const kinds = [nothing]`,
    "does not provide an export named 'nothing'",
    'Correct it',
  ],
  [
    'twice.js',
    `import { defineKind, z } from 'stellwerk'\nconst kind = defineKind({ name: 'a', payload: z.object({}), async run() {} })\nexport const kinds = [kind, kind]`,
    'defines the kind a twice',
    'Rename',
  ],
  [
    'reserved.js',
    `import { defineKind, z } from 'stellwerk'\nexport const kinds = [defineKind({ name: 'reindex', payload: z.object({}), async run() {} })]`,
    "The kind reindex: name is one of the platform's own",
    'choose another',
  ],
  [
    'plain.js',
    `export const kinds = [{ name: 'a' }]`,
    'The kind a: payload must be a zod 4 schema',
    'run must be a function',
  ],
  ['nothing.js', 'export const kinds = [null]', 'its definition must be an object', 'STELLWERK_KINDS'],
  ['kinds.json', '{"kinds": []}', 'is neither TypeScript nor JavaScript', '.ts or .js'],
  ['node_modules/own/kinds.ts', 'export const kinds = []', 'is TypeScript inside node_modules', 'Move it'],
])('%s is refused in a sentence that names the file and the remedy', async (name, source, what, remedy) => {
  const { refused } = await load(name, source)
  expect(refused).toMatch(/^StartError: The module /)
  expect(refused).toContain(join(folder, name))
  expect(refused).toContain(what)
  expect(refused).toContain(remedy)
})

test('a module that is not there is refused', async () => {
  expect((await loadFile(join(folder, 'not-there.ts'))).refused).toContain('cannot be read (ENOENT)')
})
