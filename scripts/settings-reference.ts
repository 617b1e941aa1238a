import { readFile, writeFile } from 'node:fs/promises'
import { settingFamilies, settings } from '../src/settings.ts'

// Writes docs/settings.md from the table in src/settings.ts; with --check it only verifies that the page is current.

const page = new URL('../docs/settings.md', import.meta.url)

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<')
const rows = [
  ...Object.entries(settings).map(([name, setting]) => ({ name, setting })),
  ...settingFamilies.map(({ prefix, setting }) => ({ name: `${prefix}<NAME>`, setting })),
].map(({ name, setting: { reader, fallback, otherwise, meaning } }) => {
  const standard = fallback === null ? `(${otherwise})` : `\`${fallback}\``
  return `| \`${name}\` | ${cell(standard)} | ${cell(reader.expects)} | ${cell(meaning)} |`
})

const reference = `# Settings

Set them in the environment. They are checked at the start, all at once; an unknown \`STELLWERK_*\` name is an error that
names the nearest known one. An empty value counts as not set. \`OTEL_*\` will mean what
OpenTelemetry's own specification says; it is not served yet, and the start warns that it has no effect.

This page is written by \`node scripts/settings-reference.ts\` from \`src/settings.ts\`.

| name | default | must be | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`

if (process.argv.includes('--check')) {
  const current = await readFile(page, 'utf8').catch(() => '')
  if (current !== reference) {
    console.error('docs/settings.md does not match src/settings.ts. Run `node scripts/settings-reference.ts`.')
    process.exitCode = 1
  }
} else {
  await writeFile(page, reference)
}
