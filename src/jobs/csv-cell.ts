const number = /^[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:e[+-]?\d+)?%?$/i
/** What spreadsheets take for the beginning of a formula, in their own width too. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

/**
 * One value as a cell of CSV for a spreadsheet (RFC 4180). A text that it would run as a formula gets an apostrophe before it;
 * numbers stay what they are, with a sign too. For what leaves the platform only: nothing stored is ever changed so.
 */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  const harmless = formula.test(text) && !number.test(text) ? `'${text}` : text
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
