import type { Bench, Figures } from './bench.ts'

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Medians, the spread of what is compared, and how many times the best peer that is. */
export function tableOf({ columns, compared, peers }: Bench, found: ReadonlyMap<string, readonly Figures[]>): string {
  const of = (name: string, figure: string) =>
    (found.get(name) ?? []).map((figures) => figures[figure]!).filter((value) => value !== undefined)
  const bestOf = (group: string) =>
    peers
      .filter((name) => groupOf(name) === group)
      .map((name) => of(name, compared.figure))
      .filter((values) => values.length > 0)
      .map(median)
      .toSorted((a, b) => (compared.better === 'more' ? b - a : a - b))[0]
  const head = ['', ...columns.map(({ title }) => title), 'from - to', 'x best peer']
  const rows = [...found.keys()].map((name) => {
    const values = of(name, compared.figure)
    const best = bestOf(groupOf(name))
    const digits = columns.find(({ figure }) => figure === compared.figure)?.digits ?? 1
    return [
      name,
      ...columns.map((column) => {
        const own = of(name, column.figure)
        return own.length === 0 ? '-' : median(own).toFixed(column.digits)
      }),
      values.length === 0 ? '-' : `${Math.min(...values).toFixed(digits)} - ${Math.max(...values).toFixed(digits)}`,
      best === undefined || values.length === 0 ? '-' : (median(values) / best).toFixed(2),
    ]
  })
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)))
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join('  '),
    )
    .join('\n')
}

/** Subjects whose names begin alike, up to a colon, are compared with each other. */
function groupOf(name: string): string {
  return name.includes(': ') ? name.slice(0, name.indexOf(': ')) : ''
}
