import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

// `npm run check`: everything that can be known without running the product. One line a step; what a failed step said
// follows at the end. All steps run, so that one run tells all that is wrong.

const root = fileURLToPath(new URL('..', import.meta.url))

const steps = [
  { name: 'types', command: 'tsc --noEmit -p .' },
  { name: 'lint', command: 'oxlint --type-aware --deny-warnings' },
  { name: 'format', command: 'oxfmt --check .' },
  { name: 'unused', command: 'knip' },
  { name: 'arrows', command: 'vitest run test/architecture.test.ts' },
  { name: 'prisma', command: 'node scripts/prisma-check.ts' },
  { name: 'settings reference', command: 'node scripts/settings-reference.ts --check' },
  { name: 'declarations', command: 'node scripts/print-types.ts --check' },
  { name: 'client types', command: 'tsc --noEmit -p client' },
  { name: 'client operations', command: 'graphql-codegen --check --silent' },
  { name: 'schema.graphql', command: 'node scripts/print-schema.ts --check' },
]

interface Failure {
  readonly name: string
  readonly output: string
}

async function run({ name, command }: (typeof steps)[number]): Promise<Failure | null> {
  const started = performance.now()
  const [file, ...args] = command.split(' ')
  const child = spawn(file!, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: process.env })
  const ended = new Promise<number>((resolve) => {
    child.on('error', () => resolve(1))
    child.on('exit', (code) => resolve(code ?? 1))
  })
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  return code === 0 ? null : { name, output: `${out}${err}`.trim() || `\`${command}\` could not be run.` }
}

const failures: Failure[] = []
const queue = [...steps]
async function lane(): Promise<void> {
  for (let step = queue.shift(); step; step = queue.shift()) {
    const failure = await run(step)
    if (failure) failures.push(failure)
  }
}
// Types and arrows look at what is generated.
const generated = await run({ name: 'generate', command: 'npm run -s generate' })
if (generated) failures.push(generated)
await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, lane))

for (const { name, output } of failures) console.log(`\n--- ${name}\n${output}`)
console.log(
  failures.length === 0 ? '\nAll checks passed.' : `\n${failures.length} of ${steps.length + 1} checks failed.`,
)
process.exitCode = failures.length === 0 ? 0 : 1
