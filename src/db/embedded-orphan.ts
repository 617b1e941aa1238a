import { readFileSync, readlinkSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { commandLine, processBirth } from './process-facts.ts'

const FAST_STOP_MS = 30_000
const IMMEDIATE_STOP_MS = 10_000

/**
 * Stops a server that outlived its Stellwerk process, and removes what a dead one left. The server must be proven
 * Stellwerk's: named by the cluster's postmaster.pid, and started on this cluster with a socket folder of this name,
 * which follows from the data directory (its parent may have changed with TMPDIR).
 */
export async function stopOrphan(clusterDir: string, sockets: string): Promise<void> {
  const pid = postmasterPid(clusterDir)
  if (pid === null) return
  if (processBirth(pid) !== null) {
    const command = commandLine(pid)
    if (command.includes(clusterDir) && command.includes(basename(sockets))) await stop(pid)
    else if (command.includes(clusterDir) || workingFolder(pid) === clusterDir) throw notOurs(pid, clusterDir)
  }
  // Removed by hand although PostgreSQL would: to it a zombie, or a stranger with the same number, still holds the lock.
  if (postmasterPid(clusterDir) === pid) await rm(join(clusterDir, 'postmaster.pid'), { force: true })
  for (const name of await readdir(sockets)) await rm(join(sockets, name), { force: true })
}

async function stop(pid: number): Promise<void> {
  const birth = processBirth(pid)
  for (const [signal, withinMs] of [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', IMMEDIATE_STOP_MS],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    const until = performance.now() + withinMs
    while (performance.now() < until) {
      if (processBirth(pid) !== birth) return
      await delay(10)
    }
  }
  throw new Error(
    `The embedded PostgreSQL of an earlier run (process ${pid}) does not stop. End it (kill ${pid}) and start again.`,
  )
}

function notOurs(pid: number, clusterDir: string): Error {
  return new Error(
    `PostgreSQL process ${pid} runs on ${clusterDir}, but Stellwerk did not start it. ` +
      `Stop it (kill -INT ${pid}), or use it by setting DATABASE_URL.`,
  )
}

function postmasterPid(clusterDir: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(join(clusterDir, 'postmaster.pid'), 'utf8'))
    return Number.isNaN(pid) ? null : pid
  } catch {
    return null
  }
}

function workingFolder(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return null
  }
}
