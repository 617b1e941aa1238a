import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Tells a running process from a later one that got the same number; null when none runs under that number.
 * A zombie does not run: where process 1 reaps late, it still answers to signals.
 */
export function processBirth(pid: number): string | null {
  if (!Number.isSafeInteger(pid) || pid < 1) return null
  if (process.platform === 'linux') return birthFromProc(pid)
  const [state, ...started] = ps(pid, 'stat=,lstart=').split(/\s+/)
  return !state || state.startsWith('Z') ? null : started.join(' ')
}

/** The arguments with which a process was started, joined by blanks; empty when it is gone or has none. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'command=')
  return readOrEmpty(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()
}

function birthFromProc(pid: number): string | null {
  const stat = readOrEmpty(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets and may hold blanks and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  if (!state || !startTicks || state === 'Z' || state === 'X') return null
  return `${readOrEmpty('/proc/sys/kernel/random/boot_id').trim()}/${startTicks}`
}

function ps(pid: number, columns: string): string {
  return spawnSync('ps', ['-ww', '-o', columns, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
