/**
 * Compares prisma/schema.prisma with what the migrations make: exits 1 with the difference where they disagree.
 * `--write` brings schema.prisma up to date instead.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SchemaEngine } from '@prisma/schema-engine-wasm'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { introspectingAdapter } from './introspecting-adapter.ts'
import { prismaNames } from './prisma-names.ts'

const folder = fileURLToPath(new URL('../prisma', import.meta.url))
const path = join(folder, 'schema.prisma')
const content = await readFile(path, 'utf8')

const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-prisma-'))
const embedded = await startEmbedded({ dataDir, settings: { fsync: 'off' } })
try {
  await migrate(embedded.url)
  if (process.argv.includes('--write')) await write(embedded.url)
  else await check(embedded.url)
} finally {
  await embedded.stop()
  await rm(dataDir, { recursive: true })
}
// The engine's pool of connections would keep the process for another ten seconds.
process.exit()

async function check(url: string): Promise<void> {
  const engine = await startEngine(url, content)
  const files = [{ path, content }]
  const { exitCode, stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', files, configDir: folder },
    to: { tag: 'schemaDatamodel', files },
    script: false,
    exitCode: true,
    filters: { externalTables: [], externalEnums: [] },
  })
  if (exitCode === 0) return
  console.error(
    `prisma/schema.prisma differs from prisma/migrations. Run: node scripts/prisma-check.ts --write\n${stdout ?? ''}`,
  )
  process.exitCode = 1
}

/** Reads the models anew and keeps only what stands before them: names follow from the database's, none by hand. */
async function write(url: string): Promise<void> {
  const head = content.slice(0, content.indexOf('\nmodel '))
  const engine = await startEngine(url, head)
  const { schema } = await engine.introspect({
    schema: { files: [{ path, content: head }] },
    baseDirectoryPath: folder,
    force: true,
    compositeTypeDepth: 0,
    namespaces: ['mdm'],
  })
  await writeFile(path, prismaNames(schema.files[0]?.content ?? ''))
  const prisma = createRequire(import.meta.url).resolve('prisma/build/index.js')
  process.exitCode = spawnSync(process.execPath, [prisma, 'format'], { stdio: 'inherit' }).status ?? 1
}

async function startEngine(url: string, datamodel: string): Promise<SchemaEngine> {
  // Without it the engine's own failures cannot be read.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => console.error(message) },
  })
  const adapter = bindMigrationAwareSqlAdapterFactory(introspectingAdapter(url))
  return SchemaEngine.new({ datamodels: [[path, datamodel]] }, () => {}, adapter)
}
