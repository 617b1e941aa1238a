import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { kindCatalogue } from '../src/workers/kind-catalogue.ts'
import { registerKinds } from '../src/workers/register-kinds.ts'
import { defineKind, z } from '../src/index.ts'
import { processMicros } from './meter.ts'
import { median } from './table.ts'

// `npm run bench -- floor`: what PostgreSQL itself takes for the tuples that a job needs, in one session, a thousand a statement, without
// waiting for the disk. Nobody who keeps the job and its history on PostgreSQL can be below the sum.

const rows = 20_000
const perStatement = 1_000

interface Piece {
  readonly name: string
  readonly before?: string
  /** `$1`, `$2`: from and to of the numbers. */
  readonly statement: string
}

const columns =
  'id uuid primary key, n int not null, tenant uuid not null, due timestamptz not null, payload jsonb not null'
const values = `select mdm.uuid_v7(), i, md5((i % 100)::text)::uuid, now(), '{"i": 1}' from generate_series($1::int, $2::int) i`

const pieces: readonly Piece[] = [
  {
    name: 'insert: the row and its primary key',
    before: `create table bare (${columns})`,
    statement: `insert into bare ${values}`,
  },
  {
    name: 'insert: with two queue indexes',
    before: `create table queued (${columns}, lane smallint default 0) with (fillfactor = 50);
             create index on queued (tenant, due, id) where lane = 0; create index on queued (n, tenant, due, id) where lane = 0`,
    statement: `insert into queued ${values}`,
  },
  {
    name: 'claim: find a thousand by the index, lock them, and move them out of the queue',
    statement: `update queued set lane = null where ctid = any (array(
      select ctid from queued where lane = 0 order by tenant, due, id limit $2::int - $1::int + 1 for update skip locked))`,
  },
  {
    name: 'settle: a second version of each, no index touched (HOT where the page has room)',
    before: 'create index on queued (n)',
    statement: 'update queued set payload = payload where n between $1 and $2',
  },
  {
    name: 'journal: a narrow row with its two indexes',
    before: `create table journal (id bigint generated always as identity primary key, at timestamptz default now(), job uuid, tenant uuid, action int, n int);
             create index on journal (job)`,
    statement: `insert into journal (job, tenant, action, n) select id, tenant, 1, n from queued where n between $1 and $2`,
  },
]

/** Whole moves of the product by the same measure. */
const moves: readonly Piece[] = [
  {
    name: 'Stellwerk: enqueue_jobs, a thousand at once',
    statement: `select from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'floor', 'payload', jsonb_build_object('i', i))) from generate_series($1::int, $2::int) i), false)`,
  },
]

export async function floor(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-bench-'))
  const server = await startEmbedded({ dataDir: join(folder, 'server') })
  try {
    await migrate(server.url)
    const client = new Client({
      connectionString: server.url,
      options:
        '-c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off',
    })
    await client.connect()
    await registerKinds(
      client,
      kindCatalogue([defineKind({ name: 'floor', payload: z.looseObject({}), run: async () => undefined })], {}),
    )
    const { rows: found } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const pid = found[0]!.pid
    console.log('us a job (median of the statements, the cheapest)')
    for (const { name, before, statement } of [...pieces, ...moves]) {
      if (before !== undefined) await client.query(before)
      const taken: number[] = []
      for (let from = 1; from < rows; from += perStatement) {
        const begun = processMicros(pid)
        await client.query({
          name: `piece ${pieces.length} ${name}`.slice(0, 60),
          text: statement,
          values: [from, from + perStatement - 1],
        })
        taken.push((processMicros(pid) - begun) / perStatement)
      }
      console.log(
        `${median(taken).toFixed(1).padStart(6)}  ${Math.min(...taken)
          .toFixed(1)
          .padStart(6)}  ${name}`,
      )
    }
    await client.end()
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
