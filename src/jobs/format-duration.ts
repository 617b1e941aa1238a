/** The ISO 8601 form of a time in milliseconds: `PT0.25S`, `PT15M`, `P1DT12H`. What parseDuration reads back. */
export function formatDuration(ms: number): string {
  const seconds = ms / 1_000
  const days = Math.floor(seconds / 86_400)
  const hours = Math.floor((seconds % 86_400) / 3_600)
  const minutes = Math.floor((seconds % 3_600) / 60)
  const rest = Number((seconds % 60).toFixed(3))
  const time = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${rest > 0 ? `${rest}S` : ''}`
  if (days === 0 && time === '') return 'PT0S'
  return `P${days > 0 ? `${days}D` : ''}${time === '' ? '' : `T${time}`}`
}
