import { readFile } from 'node:fs/promises'
import { arch, cpus, loadavg, release, totalmem } from 'node:os'
import { version } from '../src/version.ts'
import { embeddedBinaries } from '../src/db/embedded-binaries.ts'
import type { Postgres } from './measure.ts'

/** Where and with what a run was made: without it its figures mean nothing. */
export async function describeRun(postgres: Postgres): Promise<Readonly<Record<string, string | number>>> {
  const own = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const processors = cpus()
  return {
    stellwerk: version,
    ...own.dependencies,
    node: process.versions.node,
    postgresql: (await embeddedBinaries(postgres))?.version ?? 'none',
    system: `Linux ${release()} ${arch()}`,
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    loadAtStart: Number(loadavg()[0]!.toFixed(2)),
  }
}
