import pg from 'pg'

/**
 * What kind of failure a statement met: `data`: a row that the database refuses, it would refuse it again; `conflict`: another transaction was in the
 * way, trying again helps; `unavailable`: the server or the way to it is not there; `other`: a fault of the program.
 */
export type DatabaseFault = 'data' | 'conflict' | 'unavailable' | 'other'

const conflicts = new Set(['40001', '40P01', '55P03'])
// Connection lost, server stopping or starting, too many connections, out of disk or memory, a standby that cannot write, a cancelled statement.
const unavailable = /^(?:08|57P|53|25006|57014)/
const lostConnection = /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH/
// pg has no code for these.
const lostConnectionText =
  /^(?:Connection terminated|timeout e|timeout exceeded|Query read timeout|Client has encountered a connection error|Cannot use a pool after)/

export function databaseFault(error: unknown): DatabaseFault {
  if (!(error instanceof Error)) return 'other'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (error instanceof pg.DatabaseError) {
    if (conflicts.has(code)) return 'conflict'
    if (unavailable.test(code)) return 'unavailable'
    return /^2[23]/.test(code) ? 'data' : 'other'
  }
  if (lostConnection.test(code) || lostConnectionText.test(error.message)) return 'unavailable'
  // Several addresses of one host, all of them refused.
  return error instanceof AggregateError && error.errors.some((each) => databaseFault(each) === 'unavailable')
    ? 'unavailable'
    : 'other'
}
