import { defineKind, z } from '../../src/index.ts'
import { createMeter } from '../meter.ts'
import { readGiven } from '../given.ts'
import { report } from '../step.ts'
import { untilNone } from './until-none.ts'

// Nine kinds that do nothing; the module of STELLWERK_KINDS. It measures from inside, since the service knows of no bench.

const given = readGiven()
const meter = createMeter(given)
let started = 0

async function run(): Promise<void> {
  if (started === 0) meter.begin()
  started += 1
  if (started === given.jobs) setImmediate(() => void reportEnd())
}

/** The row of a claim goes with the commit of its last end: when none is left, all is durable. */
async function reportEnd(): Promise<void> {
  await untilNone(given.url, 'select from mdm.aa_claim limit 1')
  const figures = meter.end()
  if (process.send !== undefined) await report(figures)
  drained.resolve(figures)
}

/** Resolves when all jobs are done and durable. */
export const drained = Promise.withResolvers<ReturnType<typeof meter.end>>()

export const kinds = Array.from({ length: 9 }, (_, i) =>
  defineKind({ name: `bench_${i}`, payload: z.object({ i: z.int() }), example: { i: 0 }, run }),
)
