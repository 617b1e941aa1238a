import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import type { Figures } from './bench.ts'
import type { Given } from './given.ts'

/** Measures the stretch of the work between the first start and the last commit, inside the measured process. */
export interface Meter {
  begin(): void
  /** `jobs`: how many were measured, if not all. */
  end(jobs?: number): Figures
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
    end(measured = jobs) {
      const from = begun!
      const to = now()
      profiler?.stop()
      const node = (to.node - from.node) / measured
      const server = (to.server - from.server) / measured
      return {
        perSecond: (measured / (to.at - from.at)) * 1_000,
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

/** Of ended processes Linux counts in hundredths of a second. */
const microsPerTick = 10_000

/** Of the server and all its processes, living and ended. */
function serverMicros(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  const living = children.map((pid) => processMicros(Number(pid))).reduce((sum, micros) => sum + micros, 0)
  return living + processMicros(postmaster) + endedTicksOf(postmaster) * microsPerTick
}

/** Processor time of one process of the server so far; they have one thread each. */
export function processMicros(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    // It ended just now: the postmaster counts it.
    return 0
  }
}

/** cutime and cstime: of the children that it has waited for. */
function endedTicksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(values[13]) + Number(values[14])
}
