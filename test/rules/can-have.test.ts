import { expect, test } from 'vitest'
import { z } from 'zod'
import { canHave } from '../../src/jobs/can-have.ts'
import { payloadJsonSchema } from '../../src/jobs/payload-json-schema.ts'

const tree: z.ZodType = z.object({ name: z.string(), branches: z.lazy(() => z.array(tree)) })
const schema = payloadJsonSchema(
  z.object({
    url: z.url(),
    user: z.object({ name: z.string().optional() }),
    lines: z.array(z.object({ card: z.string() })),
    pair: z.tuple([z.string(), z.number()]),
    byName: z.record(z.string(), z.object({ token: z.string() })),
    either: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    nullable: z.object({ c: z.string() }).nullable(),
    'a/b': z.string(),
    anything: z.unknown(),
    open: z.looseObject({ known: z.string() }),
    tree,
  }),
)

test.each([
  ['', true],
  ['/url', true],
  ['/ulr', false],
  ['/url/host', false],
  ['/user/name', true],
  ['/user/nmae', false],
  ['/lines/0/card', true],
  ['/lines/0/crad', false],
  ['/pair/1', true],
  ['/byName/github/token', true],
  ['/byName/github/tokne', false],
  ['/either/b', true],
  ['/either/c', false],
  ['/nullable/c', true],
  ['/a~1b', true],
  ['/anything/at/all', true],
  ['/open/unknown', true],
  ['/tree/branches/0/name', true],
])('a payload may have something at %s: %s', (pointer, expected) => {
  expect(canHave(schema, pointer)).toBe(expected)
})
