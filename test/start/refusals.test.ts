import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runService } from '../support/service.ts'

let home: string
let dataDir: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk refusals '))
  dataDir = join(home, 'data')
})
afterAll(() => rm(home, { recursive: true }))

/** What is printed, after making sure that it ended with 1, without a stack, and left nothing behind. */
async function refusal(
  settings: Readonly<Record<string, string>>,
  args: readonly string[] = ['start'],
): Promise<string> {
  const { code, output } = await runService({ args, dataDir, settings })
  expect({ code, output }).toMatchObject({ code: 1 })
  expect(output).not.toMatch(/^ {4}at /m)
  expect(await readdir(home)).not.toContain('data')
  return output
}

const header = `import { defineKind, z } from 'stellwerk'\n`
const kind = (name: string): string => `defineKind({ name: '${name}', payload: z.object({}), async run() {} })`

const faults = [
  { fault: 'syntax', text: 'export const kinds = [\n  {{\n]', says: /cannot be parsed: .*\. Correct it\./ },
  {
    fault: 'no-export',
    text: 'export const kind = []',
    says: /has no export `kinds` \(it exports kind\)\. Write `export const kinds/,
  },
  { fault: 'empty', text: '', says: /has no export `kinds` \(it exports nothing\)/ },
  { fault: 'no-list', text: 'export const kinds = {}', says: /exports `kinds`, but not as a list/ },
  {
    fault: 'throws',
    text: `throw new RangeError('no key for the camera')\nexport const kinds = []`,
    says: /failed when it was imported: RangeError: no key for the camera \(.*throws\.ts:1\)\. Correct it, or unset STELLWERK_KINDS/,
  },
  {
    fault: 'twice',
    text: `${header}export const kinds = [${kind('resize')}, ${kind('resize')}]`,
    says: /defines the kind resize twice\./,
  },
  {
    fault: 'reserved',
    text: `${header}export const kinds = [${kind('email_send')}]`,
    says: /email_send: name is one of the platform's own kinds; choose another/,
  },
  {
    fault: 'bad-name',
    text: `${header}export const kinds = [${kind('Resize-Image')}]`,
    says: /Resize-Image: name must/,
  },
  {
    fault: 'no-run',
    text: `${header}export const kinds = [defineKind({ name: 'resize', payload: z.object({}) })]`,
    says: /resize: run must/,
  },
  { fault: 'enum', text: 'enum Size { Small }\nexport const kinds = []', says: /Types are only stripped here/ },
  { fault: 'stray-import', text: `import './nowhere.ts'\nexport const kinds = []`, says: /imports what is not there/ },
]

describe('a module of one’s own kinds', () => {
  let said: string[]

  // One process for all: starting one takes longer than everything else here.
  beforeAll(async () => {
    for (const { fault, text } of faults) await writeFile(fileOf(fault), text)
    const script = fileURLToPath(new URL('./load-kinds.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [
      script,
      ...faults.map(({ fault }) => fileOf(fault)),
    ])
    said = JSON.parse(stdout) as string[]
  })

  test.for(faults)('$fault: its sentence names the file', ({ fault, says }) => {
    const sentence = said.find((each) => each.startsWith(`The module ${fileOf(fault)} (STELLWERK_KINDS) `))
    expect(sentence).toMatch(says)
  })

  test('ends the start', async () => {
    expect(await refusal({ STELLWERK_KINDS: fileOf('throws') })).toMatch(
      /^stellwerk: The module .*RangeError: no key for the camera/,
    )
    const file = join(home, 'nowhere.ts')
    expect(await refusal({ STELLWERK_KINDS: file })).toContain(
      `The module ${file} (STELLWERK_KINDS) cannot be read (ENOENT).`,
    )
  })

  const fileOf = (fault: string): string => join(home, `${fault}.ts`)
})

describe('settings', () => {
  test('an unknown name comes with the nearest one, and everything that is wrong comes at once', async () => {
    const sentence = await refusal({ STELLWERK_WORKER: '3', PORT: '70000', STELLWERK_POLL_MS: 'often' })
    expect(sentence).toContain('STELLWERK_WORKER is not a setting; the nearest known one is STELLWERK_WORKERS.')
    expect(sentence).toMatch(/- PORT is "70000", which is not a whole number from 0 to 65535/)
    expect(sentence).toMatch(/- STELLWERK_POLL_MS is "often"/)
  })

  test('an override of a kind that does not exist', async () => {
    expect(await refusal({ STELLWERK_KIND_EMAIL_SENT: '{"maxAttempts":3}' })).toContain(
      'the nearest known one is STELLWERK_KIND_EMAIL_SEND',
    )
  })

  test('a secret is not repeated', async () => {
    const sentence = await refusal({
      DATABASE_URL: 'mysql://me:swordfish@db/any',
      STELLWERK_JWT_SECRET: 'short-secret',
      STELLWERK_ENV: 'production',
    })
    expect(sentence).toMatch(/DATABASE_URL/)
    expect(sentence).not.toMatch(/swordfish|short-secret/)
  })
})

describe('commands', () => {
  test.for([
    { args: ['strat'], says: 'Unknown command: strat. Did you mean start?' },
    { args: ['constructor'], says: 'Unknown command: constructor.' },
    { args: ['migrate', '--state'], says: 'Unknown option of migrate: --state. Did you mean --status?' },
    { args: ['start', '--port=80'], says: 'Unknown option of start: --port=80. Settings are environment variables' },
  ])('$args', async ({ args, says }) => {
    expect(await refusal({}, args)).toContain(`stellwerk: ${says}`)
  })

  test('version and help', async () => {
    expect(await runService({ args: ['version'], dataDir })).toEqual({
      code: 0,
      output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
    for (const args of [[], ['help'], ['--help'], ['-h']])
      expect(await runService({ args, dataDir })).toMatchObject({
        code: 0,
        output: expect.stringContaining('stellwerk migrate --status'),
      })
  })
})
