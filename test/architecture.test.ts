import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/**
 * The rooms of src and the rooms that each may import; `type:` allows `import type` only. Everybody may import the type of the
 * configuration. The files that put the parts together see all.
 */
const arrows: Readonly<Record<string, readonly string[] | 'all'>> = {
  jobs: [],
  sql: ['jobs'],
  objects: ['jobs'],
  db: ['jobs', 'type:sql', 'generated'],
  events: ['jobs', 'sql', 'db'],
  workers: ['jobs', 'sql', 'events', 'db', 'objects'],
  resolvers: ['jobs', 'sql', 'events', 'db', 'objects', 'generated'],
  schema: ['jobs', 'resolvers', 'generated'],
  observe: ['jobs', 'events', 'sql'],
  server: ['schema', 'resolvers', 'events', 'jobs', 'observe', 'objects'],
  'setting-readers.ts': ['jobs'],
  'settings.ts': ['setting-readers.ts', 'jobs'],
  'config.ts': ['settings.ts', 'setting-readers.ts', 'jobs'],
  'index.ts': 'all',
  'version.ts': [],
  'library.ts': 'all',
  'await-database.ts': 'all',
  'pool-specs.ts': 'all',
  'key-command.ts': 'all',
  'api.ts': 'all',
  'app.ts': 'all',
  'cli.ts': 'all',
}

/** Packages that belong to some rooms, so that the worker half runs without GraphQL and domain code neither logs nor counts. */
const reserved: Readonly<Record<string, readonly string[]>> = {
  graphql: ['schema', 'server'],
  '@pothos/core': ['schema'],
  '@pothos/plugin-directives': ['schema'],
  'graphql-yoga': ['server'],
  '@graphql-tools/executor': ['server'],
  '@graphql-yoga/render-graphiql': ['server'],
  'graphql-ws': ['server'],
  ws: ['server'],
  '@prisma/client': ['db', 'resolvers'],
  '@prisma/adapter-pg': ['db'],
  pino: ['observe'],
  'prom-client': ['observe'],
}

/** All that the rules may take from outside: schemas, hashes, calendars, templates and forms of addresses know neither clock nor world. */
const pure = ['zod', 'node:crypto', 'croner', 'liquidjs', 'html-to-text', 'ipaddr.js']

interface Import {
  readonly file: string
  /** A path below src, or the name of a package. */
  readonly target: string
  readonly own: boolean
  readonly typeOnly: boolean
}

const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.startsWith('src/generated/'))
const sources = new Map(files.map((file) => [file, withoutComments(readFileSync(join(root, file), 'utf8'))]))
const imports = [...sources].flatMap(([file, source]) => importsOf(file, source))

test('there is something to look at', () => {
  expect(files.length).toBeGreaterThan(20)
  expect(imports.length).toBeGreaterThan(files.length)
})

test('imports follow the arrows', () => {
  const wrong = imports
    .filter((each) => !isAllowed(each))
    .map(({ file, target, typeOnly }) => `${file} imports ${typeOnly ? 'the types of ' : ''}${target}`)
  const table = [
    'A room may import:',
    ...Object.entries(arrows).map(([room, targets]) => `  ${room}: ${[targets].flat().join(', ') || 'nothing'}`),
    `Beside that, jobs imports only ${pure.join(', ')}.`,
    'A package is imported only by:',
    ...Object.entries(reserved).map(([name, rooms]) => `  ${name}: ${rooms.join(', ')}`),
  ]
  expect(wrong, ['', ...wrong, ...table, ''].join('\n')).toEqual([])
})

test('no imports go round in a circle, not even of types', () => {
  expect(circles()).toEqual([])
})

test('nothing in src imports from test', () => {
  expect(imports.filter(({ target }) => target.startsWith('../'))).toEqual([])
})

test.each([
  {
    what: 'the environment',
    pattern: /\bprocess\s*\.\s*env\b|\benv\b[^;\n]*from 'node:process'/,
    allowed: ['src/cli.ts', 'src/config.ts'],
  },
  { what: 'the console', pattern: /\bconsole\s*\.\s*\w+\s*\(/, allowed: ['src/cli.ts'] },
])('$what is touched only in $allowed', ({ pattern, allowed }) => {
  const wrong = [...sources]
    .filter(([file, source]) => pattern.test(source) && !allowed.includes(file))
    .map(([file]) => file)
  expect(wrong).toEqual([])
})

test('there is one graphql', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  expect(Object.keys(packages).filter((path) => /(^|\/)node_modules\/graphql$/.test(path))).toEqual([
    'node_modules/graphql',
  ])
})

describe('the reader of imports', () => {
  test('knows every form of an import', () => {
    const source = withoutComments(`
      import { a } from './a.ts' // import x from './not.ts'
      import type { B,
        C } from '../sql/b.ts'
      /* import './neither.ts' */
      import 'pg'
      import { type Pool } from 'pg'
      export { d } from '@pothos/core/sub'
      const e = await import('node:fs')
      type F = import('./f.ts').F`)
    expect(
      importsOf('src/jobs/x.ts', source).map(({ target, typeOnly }) => `${typeOnly ? 'type ' : ''}${target}`),
    ).toEqual(['jobs/a.ts', 'type sql/b.ts', 'pg', 'pg', '@pothos/core', 'node:fs', 'jobs/f.ts'])
  })
})

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

function importsOf(file: string, source: string): Import[] {
  const found = source.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'"`;=()]*?\sfrom\s+)?'([^'\n]+)'|\bimport\(\s*'([^'\n]+)'/g,
  )
  return [...found].map(([, type, path, dynamic]) => targetOf(file, path ?? dynamic!, type !== undefined))
}

function targetOf(file: string, path: string, typeOnly: boolean): Import {
  if (path.startsWith('.'))
    return { file, target: normalize(join(dirname(file.slice('src/'.length)), path)), own: true, typeOnly }
  const target = path.startsWith('node:')
    ? path
    : path
        .split('/')
        .slice(0, path.startsWith('@') ? 2 : 1)
        .join('/')
  return { file, target, own: false, typeOnly }
}

function isAllowed({ file, target, own, typeOnly }: Import): boolean {
  const room = file.split('/')[1]!
  const allowed = arrows[room]
  if (allowed === undefined) return false
  if (allowed === 'all') return true
  if (!own && room === 'jobs') return pure.includes(target)
  if (!own) return typeOnly || (reserved[target]?.includes(room) ?? true)
  const into = target.split('/')[0]!
  if (into === room || allowed.includes(into)) return true
  return typeOnly && (into === 'config.ts' || allowed.includes(`type:${into}`))
}

function circles(): string[] {
  const next = Map.groupBy(imports, ({ file }) => file)
  const finished = new Set<string>()
  const found: string[] = []
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    if (finished.has(file)) return
    for (const { target } of next.get(file) ?? []) {
      if (sources.has(`src/${target}`)) walk(`src/${target}`, [...path, file])
    }
    finished.add(file)
  }
  for (const file of sources.keys()) walk(file, [])
  return found
}
