import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { api } from './api.ts'
import type { Bench, Figures } from './bench.ts'
import { drain } from './drain.ts'
import { enqueue } from './enqueue.ts'
import { fanOut } from './fan-out.ts'
import { floor } from './floor.ts'
import { describeRun } from './machine.ts'
import { measure, type Postgres } from './measure.ts'
import { pickup } from './pickup.ts'
import { processes } from './processes.ts'
import { profile } from './profile.ts'
import { fairness, growth, situations } from './situations.ts'
import { start } from './start.ts'
import { median, tableOf } from './table.ts'
import { work } from './work.ts'

// `npm run bench -- <name>`: see README.md.

const benches: readonly Bench[] = [
  drain,
  pickup,
  enqueue,
  api,
  fanOut,
  situations,
  growth,
  fairness,
  work,
  processes,
  start,
]
const usage = `npm run bench -- <name> [options]

${benches.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join('\n')}
  profile    Where the time of a drain goes: statements, WAL, buffers, functions of Node.
  floor      What PostgreSQL takes for the tuples of a job alone.

  --reps 3          repetitions of each subject, interleaved
  --jobs 50000      instead of the bench's own number
  --only text       subjects whose name holds one of these words, comma-separated
  --postgres 18     or 16, the oldest that Stellwerk runs on
  --save name       also writes results/reference-<name>.json
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    reps: { type: 'string', default: '3' },
    jobs: { type: 'string' },
    only: { type: 'string', default: '' },
    postgres: { type: 'string', default: '18' },
    save: { type: 'string' },
  },
})

const postgres: Postgres = values.postgres === '16' ? 16 : 18
if (String(postgres) !== values.postgres) {
  console.error(`--postgres takes 16 or 18, not ${values.postgres}.`)
  process.exit(1)
}
const folder = fileURLToPath(new URL('.', import.meta.url))
const bench = benches.find(({ name }) => name === positionals[0])
const jobs = values.jobs === undefined ? undefined : wholeNumber('--jobs', values.jobs)
const subjects = (from: Bench) =>
  from.subjects
    .filter(({ name }) => values.only.split(',').some((word) => name.includes(word)))
    .filter(({ name, needs }) => {
      if (needs === undefined || isThere(needs)) return true
      console.log(`${name} is left out: there is no ${needs} here.`)
      return false
    })

if (positionals[0] === 'floor') await floor()
else if (positionals[0] === 'profile') await profile(subjects(drain)[0]!, jobs ?? drain.jobs)
else if (bench === undefined) {
  console.log(usage)
  process.exitCode = positionals.length === 0 ? 0 : 1
} else await run(bench, wholeNumber('--reps', values.reps))

async function run(chosen: Bench, repetitions: number): Promise<void> {
  installPeers()
  const compared = subjects(chosen)
  const machine = await describeRun(postgres)
  const found = new Map<string, Figures[]>(compared.map(({ name }) => [name, []]))
  // Interleaved, and each time from another one on: what the machine does meanwhile hits all alike.
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    for (let i = 0; i < compared.length; i += 1) {
      const subject = compared[(i + repetition) % compared.length]!
      const figures = await measure(subject, jobs ?? chosen.jobs, { postgres })
      found.get(subject.name)!.push(figures)
      const { figure } = chosen.compared
      console.log(`${repetition + 1}/${repetitions} ${subject.name}: ${figure} ${figures[figure]?.toFixed(2)}`)
    }
  }
  console.log(
    `\n${chosen.about}\nMedians of ${repetitions}, ${jobs ?? chosen.jobs} jobs, ${machine.cores} cores, load at the start ${machine.loadAtStart}\n`,
  )
  console.log(tableOf(chosen, found))
  await save({
    bench: chosen.name,
    at: new Date().toISOString(),
    jobs: jobs ?? chosen.jobs,
    repetitions,
    machine,
    compared: {
      ...chosen.compared,
      title: chosen.columns.find(({ figure }) => figure === chosen.compared.figure)?.title ?? chosen.compared.figure,
    },
    results: resultsOf(found),
  })
}

function resultsOf(found: ReadonlyMap<string, readonly Figures[]>) {
  return [...found].map(([name, measured]) => ({
    name,
    medians: Object.fromEntries(
      Object.keys(measured[0]!).map((figure) => [figure, median(measured.map((each) => each[figure]!))]),
    ),
    measured,
  }))
}

async function save(
  result: Readonly<Record<string, unknown>> & { readonly bench: string; readonly at: string },
): Promise<void> {
  await mkdir(`${folder}results`, { recursive: true })
  const text = `${JSON.stringify(result, null, 2)}\n`
  const file = `${folder}results/${result.bench}-${result.at.replaceAll(/[:.]/g, '-')}.json`
  await writeFile(file, text)
  if (values.save !== undefined) await writeFile(`${folder}results/reference-${values.save}.json`, text)
  console.log(`\n${file}`)
}

function isThere(program: string): boolean {
  return process.env.PATH!.split(':').some((folder) => existsSync(`${folder}/${program}`))
}

/** The product never depends on its peers: they are packages of the bench alone. */
function installPeers(): void {
  if (existsSync(`${folder}node_modules`)) return
  console.log('Installing the peers ...')
  execFileSync('npm', ['ci'], { cwd: folder, stdio: 'inherit' })
}

function wholeNumber(option: string, text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text)
  console.error(`${option} takes a whole number above 0, not ${text}.`)
  return process.exit(1)
}
