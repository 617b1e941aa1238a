/** Forms that the database accepts too (migration 0014). */
const eventType = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$/

export const isEventType = (text: string): boolean => eventType.test(text)

/** A type, `*` for all, or `entity.*` for all that begin with `entity.`. */
export const isEventPattern = (text: string): boolean =>
  text === '*' || eventType.test(text.endsWith('.*') ? text.slice(0, -2) : text)
