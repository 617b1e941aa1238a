import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

// `node bench/plot.ts`: draws docs/performance/<bench>.svg from each results/reference-<bench>.json.

interface Reference {
  readonly bench: string
  readonly jobs: number
  readonly repetitions: number
  readonly compared: { readonly figure: string; readonly title: string; readonly better: 'more' | 'less' }
  readonly results: readonly {
    readonly name: string
    readonly medians: Readonly<Record<string, number>>
    readonly measured: readonly Readonly<Record<string, number>>[]
  }[]
}

const results = fileURLToPath(new URL('results/', import.meta.url))
const docs = fileURLToPath(new URL('../docs/performance/', import.meta.url))
const bar = { left: 260, width: 520, height: 18, gap: 8, top: 52 }

for (const file of (await readdir(results)).filter((name) => /^reference-.*\.json$/.test(name))) {
  const reference = JSON.parse(await readFile(`${results}${file}`, 'utf8')) as Reference
  await mkdir(docs, { recursive: true })
  await writeFile(`${docs}${reference.bench}.svg`, chartOf(reference))
  console.log(`docs/performance/${reference.bench}.svg`)
}

/** One bar a subject: its median, and a line from its smallest to its largest measurement. */
function chartOf({ bench, jobs, repetitions, compared, results: subjects }: Reference): string {
  const { figure, title, better } = compared
  const most = Math.max(...subjects.flatMap(({ measured }) => measured.map((each) => each[figure]!)))
  const x = (value: number): number => Math.round((bar.left + (value / most) * bar.width) * 10) / 10
  const bars = subjects.map(({ name, medians, measured }, row) => {
    const y = bar.top + row * (bar.height + bar.gap)
    const middle = y + bar.height / 2
    const values = measured.map((each) => each[figure]!)
    const value = medians[figure]!
    return [
      `<text x="${bar.left - 8}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${bar.left}" y="${y}" width="${x(value) - bar.left}" height="${bar.height}" fill="${colourOf(name)}"/>`,
      `<line x1="${x(Math.min(...values))}" x2="${x(Math.max(...values))}" y1="${middle}" y2="${middle}" stroke="#222" stroke-width="1.5"/>`,
      `<text x="${x(Math.max(...values, value)) + 6}" y="${middle + 4}">${shown(value)}</text>`,
    ].join('\n')
  })
  const height = bar.top + subjects.length * (bar.height + bar.gap) + 8
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${bar.left + bar.width + 80} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="15" font-weight="bold">${escaped(bench)}: ${escaped(title)}</text>
<text x="12" y="40" fill="#555">${better} is better; medians of ${repetitions}, the line from the smallest to the largest; ${jobs.toLocaleString('en')} jobs</text>
${bars.join('\n')}
</svg>
`
}

function colourOf(name: string): string {
  return /graphile|pg-boss|BullMQ|graphql-ws|stock yoga|node:http/.test(name) ? '#b9c2cc' : '#2f6f9f'
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 1 : 2)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
