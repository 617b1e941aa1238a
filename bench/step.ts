import type { Figures } from './bench.ts'
import { readGiven, type Given } from './given.ts'
import { createMeter, type Meter } from './meter.ts'

/** What a subject does; each step is a process of its own, so that none inherits the heat of another. */
export interface Steps {
  /** Makes schema and jobs. */
  prepare(given: Given): Promise<void>
  /** The work; what it answers stands beside the meter's figures. */
  measure(given: Given, meter: Meter): Promise<Figures>
  /** Throws where the work is not done, each job exactly once. */
  check(given: Given): Promise<void>
}

/** Runs the step that the command line names and ends the process. */
export async function runStep(steps: Steps): Promise<void> {
  const step = process.argv[2] as keyof Steps
  const given = readGiven()
  if (step === 'measure') await report(await steps.measure(given, createMeter(given)))
  else await steps[step](given)
  process.exit()
}

/** Hands the figures of a measured step to the bench. */
export async function report(figures: Figures): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    process.send!({ figures }, undefined, {}, (error) => (error === null ? resolve() : reject(error))),
  )
}
