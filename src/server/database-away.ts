const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
/** Shut down, crashed, starting, too many connections. */
const serverCodes = new Set(['57P01', '57P02', '57P03', '53300'])
/** Cannot reach the server, connection closed, no free connection in time. */
const prismaCodes = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024'])
/** pg gives these no code. */
const cutOff = /^(Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed)/
const notReached =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout|Cannot use a pool after)/

/** Whether an error of a database driver says that the database, not the statement, is the trouble. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // One failure for each address of a host that has several.
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway)
  const { code = '', syscall } = error as { code?: string; syscall?: string }
  if (socketCodes.has(code) || serverCodes.has(code) || prismaCodes.has(code) || /^08...$/.test(code)) return true
  return (code === 'ENOENT' && syscall === 'connect') || cutOff.test(error.message) || notReached.test(error.message)
}

/** Whether the connection broke under a statement, so that nobody knows if it was committed. */
export function wasCutOff(error: unknown): boolean {
  if (!(error instanceof Error) || notReached.test(error.message)) return false
  const { code = '' } = error as { code?: string }
  return (
    cutOff.test(error.message) ||
    ['ECONNRESET', 'EPIPE', '57P01', '57P02', 'P1017'].includes(code) ||
    code.startsWith('08')
  )
}
