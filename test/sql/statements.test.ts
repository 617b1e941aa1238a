import { glob, readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Statement } from '../../src/sql/statement.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { oldestServerMissing } from '../support/oldest-server.ts'

const folder = fileURLToPath(new URL('../../src/sql/', import.meta.url))

interface Found {
  readonly file: string
  readonly exportName: string
  readonly statement: Statement<readonly unknown[], unknown>
}

const found: Found[] = []
for (const file of (await readdir(folder)).toSorted()) {
  const module = (await import(`${folder}${file}`)) as Record<string, unknown>
  for (const [exportName, value] of Object.entries(module)) {
    if (typeof value === 'function' && 'statementName' in value && 'text' in value) {
      found.push({ file, exportName, statement: value as Found['statement'] })
    }
  }
}

test('there are statements', () => {
  expect(found.length).toBeGreaterThan(30)
})

test.each(found)('$file: file, export and prepared name are one', ({ file, exportName, statement }) => {
  const words = basename(file, '.ts').split('-')
  expect(statement.statementName).toBe(words.join('_'))
  expect(exportName).toBe(
    words.map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join(''),
  )
})

test.each(found)('$file: begins with what it moves or reads', ({ statement }) => {
  expect(statement.text).toMatch(/^-- \S.+\n/)
})

test('a file holds one statement at most', () => {
  const counts = Map.groupBy(found, ({ file }) => file)
  expect([...counts].filter(([, statements]) => statements.length > 1).map(([file]) => file)).toEqual([])
})

test('no SQL outside this folder moves a job', async () => {
  const source = fileURLToPath(new URL('../../src/', import.meta.url))
  const strays: string[] = []
  for await (const file of glob('**/*.ts', {
    cwd: source,
    exclude: (name) => name === 'generated' || name === 'sql',
  })) {
    const text = await readFile(`${source}${file}`, 'utf8')
    if (/(?:update|delete from|insert into)\s+mdm\.aa_job\b/i.test(text)) strays.push(file)
  }
  expect(strays).toEqual([])
})

/** `(parameter types) -> (result types)` of each statement as a server understands it, or what it has against it. */
async function signatures(database: TestDatabase): Promise<Record<string, string>> {
  const client = await database.pool.connect()
  try {
    const all: Record<string, string> = {}
    for (const { statement } of found) all[statement.statementName] = await signature(client, statement)
    return all
  } finally {
    client.release()
  }
}

async function signature(client: PoolClient, { statementName, text }: Found['statement']): Promise<string> {
  try {
    await client.query(`prepare ${statementName} as ${text}`)
  } catch (error) {
    return `refused: ${(error as Error).message}`
  }
  const { rows } = await client.query<{ given: string[]; brought: string[] | null }>(
    'select parameter_types::text[] as given, result_types::text[] as brought from pg_prepared_statements where name = $1',
    [statementName],
  )
  return `(${rows[0]!.given.join(', ')}) -> (${(rows[0]!.brought ?? []).join(', ')})`
}

for (const version of [18, 16] as const) {
  describe(`on PostgreSQL ${version}`, () => {
    if (version === 16 && oldestServerMissing !== null) {
      leaveOut(oldestServerMissing)
      return
    }
    let types: Record<string, string>
    beforeAll(async () => {
      const database = await testDatabase({ version })
      types = await signatures(database)
      await database.drop()
    })

    test('every statement is prepared against the migrated schema', () => {
      expect(Object.entries(types).filter(([, type]) => type.startsWith('refused'))).toEqual([])
    })

    test('parameter and result types are the recorded ones, the same on every server', async () => {
      const lines = Object.entries(types)
        .map(([name, type]) => `${name} ${type}\n`)
        .toSorted()
      await expect(lines.join('')).toMatchFileSnapshot('__snapshots__/statement-types.txt')
    })
  })
}
