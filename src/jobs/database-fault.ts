/**
 * What kind of failure a statement met: `data`: a row that the database refuses, it would refuse it again; `conflict`: another transaction was in the
 * way, trying again helps; `unavailable`: the server or the way to it is not there; `other`: a fault of the program.
 */
export type DatabaseFault = 'data' | 'conflict' | 'unavailable' | 'other'

const sqlState = /^[0-9A-Z]{5}$/
const conflicts = new Set(['40001', '40P01', '55P03'])
// Connection lost, server stopping or starting, too many connections, out of disk or memory, a standby that cannot write, a cancelled statement.
const unavailable = /^(?:08|57P|53|25006|57014)/
const socketErrors = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH)/
// pg has no code for these.
const cutOff =
  /^(?:Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed)/
const notReached = /^(?:timeout e|Connection terminated due to connection timeout|Cannot use a pool after)/

/** Sorts an error of the database's driver. */
export function databaseFault(error: unknown): DatabaseFault {
  if (!(error instanceof Error)) return 'other'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // Several addresses of one host, all of them refused.
  if (error instanceof AggregateError && error.errors.some((each) => databaseFault(each) === 'unavailable'))
    return 'unavailable'
  if (socketErrors.test(code) || cutOff.test(error.message) || notReached.test(error.message)) return 'unavailable'
  if (!sqlState.test(code)) return 'other'
  if (conflicts.has(code)) return 'conflict'
  if (unavailable.test(code)) return 'unavailable'
  return /^2[23]/.test(code) ? 'data' : 'other'
}

/** Whether the connection broke under a statement, so that nobody knows if it was committed. */
export function wasCutOff(error: unknown): boolean {
  if (!(error instanceof Error) || notReached.test(error.message)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return cutOff.test(error.message) || ['ECONNRESET', 'EPIPE', '57P01', '57P02'].includes(code) || code.startsWith('08')
}
