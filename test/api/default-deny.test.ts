import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdsScopes, scopes, type Scope } from '../../src/jobs/permissions.ts'
import { outcomeOf, rootFields, type RootField } from './root-fields.ts'
import { caller, testApi, type TestApi } from './support.ts'

/** For whoever is signed in; nodes need the scope of what is found. */
const open = ['viewer', 'node', 'nodes']

function scopesOf({ field }: RootField): Scope[][] | undefined {
  const directives = field.extensions['directives'] as { requiresScopes?: { scopes: Scope[][] }[] } | undefined
  return directives?.requiresScopes?.[0]?.scopes
}

test('no root field is without a scope but viewer, node and nodes', () => {
  expect(
    rootFields
      .filter((each) => scopesOf(each) === undefined)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(open.toSorted())
})

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

test.each(rootFields)('$operation $name keeps its scopes', async (root) => {
  const by = (may: readonly Scope[] | null) =>
    outcomeOf(api, root, may === null ? null : caller({ tenantIds: 'all', may }))
  expect(await by(null)).toBe('UNAUTHENTICATED')
  const needed = scopesOf(root)
  const mayPass = (scope: Scope) =>
    needed === undefined || holdsScopes(caller({ tenantIds: 'all', may: [scope] }), needed)
  const forbidden: Scope[] = []
  for (const scope of scopes) if ((await by([scope])) === 'FORBIDDEN') forbidden.push(scope)
  expect(forbidden).toEqual(scopes.filter((scope) => !mayPass(scope)))
})
