import { mkdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { relative } from 'node:path'
import { Client } from 'pg'
import type { Subject } from './bench.ts'
import { measure, withClient } from './measure.ts'
import { processMicros } from './meter.ts'

const folder = fileURLToPath(new URL('profile', import.meta.url))
const root = fileURLToPath(new URL('..', import.meta.url))

/** One drain under the profiler of Node and with PostgreSQL's statistics of statements; both make it slower. */
export async function profile(subject: Subject, jobs: number): Promise<void> {
  const file = `${folder}/${subject.name.replaceAll(/[^a-z-]+/g, '-')}.cpuprofile`
  await mkdir(folder, { recursive: true })
  console.log(`${subject.name}, ${jobs} jobs\n`)
  const figures = await measure(subject, jobs, {
    settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_planning': 'on' },
    profile: file,
    watch: (url) => watchProcesses(url, jobs),
    look: (url) => tellStatements(url, jobs),
  })
  console.log(
    `\n${Object.entries(figures)
      .map(([name, value]) => `${name} ${value.toFixed(1)}`)
      .join(', ')}\n`,
  )
  await tellFunctions(file, jobs)
}

/** Processor time of each of the server's processes, start of the service included. */
async function watchProcesses(url: string, jobs: number): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const seen = new Map<number, { name: string; from: number; to: number }>()
  const look = async (): Promise<void> => {
    const { rows } = await client.query<{ pid: number; name: string }>(
      `select pid, coalesce(nullif(application_name, ''), backend_type) as name from pg_stat_activity where pid <> pg_backend_pid()`,
    )
    for (const { pid, name } of rows) {
      const micros = processMicros(pid)
      const before = seen.get(pid)
      seen.set(pid, {
        name,
        from: before?.from ?? (name.startsWith('stellwerk') ? 0 : micros),
        to: Math.max(micros, before?.to ?? 0),
      })
    }
  }
  await look()
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, 50)
  return async () => {
    clearInterval(timer)
    await looking
    await client.end()
    console.log('us/job   process of the server')
    const used = [...seen.values()].map(({ name, from, to }) => ({ name, micros: (to - from) / jobs }))
    for (const { name, micros } of used.toSorted((a, b) => b.micros - a.micros))
      if (micros > 0.05) console.log(`${micros.toFixed(2).padStart(6)}   ${name}`)
    console.log()
  }
}

async function tellStatements(url: string, jobs: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('create extension if not exists pg_stat_statements')
    const { rows } = await client.query(
      `select (regexp_match(query, '-- ([^\n]{1,60})|^(.{1,60})'))[1] as said, left(query, 60) as text, calls::int, rows::int,
              total_exec_time + total_plan_time as ms, wal_bytes::float8 as wal, wal_records::int as records, wal_fpi::int as images,
              shared_blks_hit::float8 + shared_blks_read as buffers
         from pg_stat_statements where calls > 0 order by 5 desc limit 14`,
    )
    console.log('us/job   calls  rows/call  WAL B/job  records/job  images  buffers/call  statement')
    for (const row of rows) {
      console.log(
        [
          ((row.ms * 1_000) / jobs).toFixed(2).padStart(6),
          String(row.calls).padStart(7),
          (row.rows / row.calls).toFixed(1).padStart(10),
          (row.wal / jobs).toFixed(0).padStart(10),
          (row.records / jobs).toFixed(2).padStart(12),
          String(row.images).padStart(7),
          (row.buffers / row.calls).toFixed(0).padStart(13),
          ` ${row.said ?? row.text.replaceAll(/\s+/g, ' ')}`,
        ].join(' '),
      )
    }
  })
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Self time by function. */
async function tellFunctions(file: string, jobs: number): Promise<void> {
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(file, 'utf8')) as CpuProfile
  const names = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const micros = new Map<string, number>()
  samples.forEach((id, i) => {
    const name = names.get(id)!
    micros.set(name, (micros.get(name) ?? 0) + Math.max(timeDeltas[i + 1] ?? 0, 0))
  })
  const busy = [...micros].filter(([name]) => !name.startsWith('(idle)') && !name.startsWith('(program)'))
  const sum = busy.reduce((total, [, time]) => total + time, 0)
  console.log(`${(sum / jobs).toFixed(1)} us a job in JavaScript and garbage collection (${relative(root, file)})`)
  for (const [name, time] of busy.toSorted((a, b) => b[1] - a[1]).slice(0, 40))
    console.log(`${(time / jobs).toFixed(2).padStart(7)}  ${name}`)
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  if (url === '') return name
  const place = url.startsWith('file://') ? relative(root, fileURLToPath(url)) : url
  return `${name}  ${place}:${lineNumber + 1}`
}
