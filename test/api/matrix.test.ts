import { afterAll, beforeAll, expect, test } from 'vitest'
import { scopes, type Caller, type Scope } from '../../src/jobs/permissions.ts'
import { outcomeOf, rootFields } from './root-fields.ts'
import { caller, testApi, type TestApi } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

const administrator: readonly Scope[] = [
  'READ_JOBS',
  'READ_PAYLOADS',
  'ENQUEUE_JOBS',
  'CONTROL_JOBS',
  'MANAGE_METADATA',
  'READ_AUDIT',
]

test('who gets in where', async () => {
  const tenantIds = [
    (await api.sql<{ id: string }>("select id from mdm.aa_tenant where tenant_key = 'default'"))[0]!.id,
  ]
  const principals: Readonly<Record<string, Caller | null>> = {
    nobody: null,
    reader: caller({ tenantIds, may: ['READ_JOBS'] }),
    producer: caller({ tenantIds, may: ['ENQUEUE_JOBS'] }),
    controller: caller({ tenantIds, may: ['READ_JOBS', 'CONTROL_JOBS'] }),
    auditor: caller({ tenantIds, may: ['READ_AUDIT'] }),
    administrator: caller({ tenantIds, may: administrator }),
    platform: caller({ tenantIds: 'all', may: scopes }),
  }
  const names = Object.keys(principals)
  const line = (first: string, cells: readonly string[]): string =>
    [first.padEnd(36), ...cells.map((cell, column) => cell.padEnd(names[column]!.length))].join('  ').trimEnd()

  const lines = [line('', names)]
  const inOrder = rootFields.toSorted((a, b) => `${a.operation} ${a.name}`.localeCompare(`${b.operation} ${b.name}`))
  for (const root of inOrder) {
    const cells: string[] = []
    for (const who of Object.values(principals)) {
      const code = await outcomeOf(api, root, who)
      cells.push(code === 'UNAUTHENTICATED' || code === 'FORBIDDEN' ? '-' : 'yes')
    }
    lines.push(line(`${root.operation} ${root.name}`, cells))
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('__snapshots__/matrix.txt')
})
