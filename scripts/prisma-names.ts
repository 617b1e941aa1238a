const HEAD = `// For reading. The tables are made by prisma/migrations, and this file follows them:
// node scripts/prisma-check.ts compares the two, with --write it brings this file up to date.
`

/**
 * Gives what Prisma read from the database the names that TypeScript uses: `aa_job` becomes `AaJob`, `tenant_id`
 * becomes `tenantId`, with the database's names in `@@map` and `@map`.
 */
export function prismaNames(schema: string): string {
  const names = (kinds: string): ReadonlySet<string> =>
    new Set([...schema.matchAll(new RegExp(`^(?:${kinds}) (\\w+) \\{`, 'gm'))].map(([, name]) => name as string))
  const types = names('model|view|enum')
  const models = names('model|view')
  const blocks = schema
    .replace(/^(?:\/\/ .*\n)+/, '')
    .replaceAll(/^ *\/\/\/ (?:This|The underlying) .*\n/gm, '')
    .replaceAll(/^(model|view|enum) (\w+) \{\n([\s\S]*?)\n\}/gm, (_, kind: string, name: string, body: string) => {
      const lines = kind === 'enum' ? [body] : body.split('\n').map((line) => named(line, types, models, kind))
      return [`${kind} ${pascal(name)} {`, ...lines, `  @@map("${name}")`, '}'].join('\n')
    })
  return HEAD + blocks
}

function named(line: string, types: ReadonlySet<string>, models: ReadonlySet<string>, kind: string): string {
  if (line.trim().startsWith('@@')) return line.replace(/\[[^\]]*\]/, camelWords)
  const field = /^  (\w+)(\s+)(\w+)(\S*)(.*)$/.exec(line)
  if (!field) return line
  const [, name, space, type, mark, rest] = field as unknown as [string, string, string, string, string, string]
  if (models.has(type)) {
    const one = camel(name.replace(/^(?:aa|ddm)_/, ''))
    const relation = mark === '[]' ? several(one) : one
    return `  ${relation}${space}${pascal(type)}${mark}${rest.replaceAll(/\[[^\]]*\]/g, camelWords)}`
  }
  // Prisma's client needs to know by what a view's rows are told apart, and the database does not say it.
  const isViewKey = kind === 'view' && name === 'id'
  const map = camel(name) === name ? '' : ` @map("${name}")`
  const typed = types.has(type) ? pascal(type) : type
  return `  ${camel(name)}${space}${typed}${isViewKey ? ' @unique' : mark}${map}${rest}`
}

function several(name: string): string {
  return name.endsWith('s') ? name : `${name.replace(/y$/, 'ie')}s`
}

function camelWords(text: string): string {
  return text.replaceAll(/\w+/g, camel)
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function pascal(name: string): string {
  const words = camel(name)
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
