import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import type { Figures } from './bench.ts'
import type { Given } from './given.ts'

/** Measures the stretch of the work between the first start and the last commit, inside the measured process. */
export interface Meter {
  begin(): void
  end(): Figures
}

/** Time, processor time of this process (all threads) and of the server, per job; peak memory. */
export function createMeter({ postmaster, jobs, profile }: Pick<Given, 'postmaster' | 'jobs' | 'profile'>): Meter {
  let begun: { at: number; node: number; server: number } | undefined
  const profiler = profile === null ? null : createProfiler(profile)

  const now = () => ({ at: performance.now(), node: nodeMicros(), server: serverMicros(postmaster) })

  return {
    begin() {
      if (begun !== undefined) return
      profiler?.start()
      begun = now()
    },
    end() {
      const from = begun!
      const to = now()
      profiler?.stop()
      const node = (to.node - from.node) / jobs
      const server = (to.server - from.server) / jobs
      return {
        perSecond: (jobs / (to.at - from.at)) * 1_000,
        nodeMicros: node,
        serverMicros: server,
        allMicros: node + server,
        rssMb: process.resourceUsage().maxRSS / 1024,
      }
    },
  }
}

/** Of the measured stretch only: the start of a service is longer than a short drain. */
function createProfiler(file: string) {
  const session = new Session()
  return {
    start() {
      session.connect()
      session.post('Profiler.enable')
      session.post('Profiler.setSamplingInterval', { interval: 200 })
      session.post('Profiler.start')
    },
    stop() {
      session.post('Profiler.stop', (_, { profile }) => writeFileSync(file, JSON.stringify(profile)))
    },
  }
}

function nodeMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Linux counts in hundredths of a second: over 50,000 jobs that is 0.2 us a job for each process of the server. */
const microsPerTick = 10_000

/** Of the server and all its processes, living and ended. */
function serverMicros(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  // utime and stime of each; of the postmaster those of the children that it has waited for as well.
  const living = children.map((pid) => processMicros(Number(pid))).reduce((sum, micros) => sum + micros, 0)
  return living + ticksOf(postmaster, 4) * microsPerTick
}

/** Processor time of one process so far. */
export function processMicros(pid: number): number {
  return ticksOf(pid, 2) * microsPerTick
}

function ticksOf(pid: number, fields: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const values = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    return values.slice(11, 11 + fields).reduce((sum, ticks) => sum + ticks, 0)
  } catch {
    // It ended just now: the postmaster counts it.
    return 0
  }
}
