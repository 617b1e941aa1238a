/**
 * What the log may say of an error: messages of the database quote values ("Key (email)=(...) already exists"),
 * so of those only the code and the names of things are kept.
 */
export function describeUnforeseen(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { err: { type: typeof error } }
  const frames = error.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')
  const { code, severity, table, column, constraint, routine } = error as unknown as Record<string, unknown>
  if (severity !== undefined)
    return { err: { type: 'DatabaseError', code, table, column, constraint, routine, stack: frames } }
  return {
    err: { type: error.name, message: error.message, code, stack: `${error.name}: ${error.message}\n${frames}` },
  }
}
