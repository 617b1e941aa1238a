import { describe, expect, test } from 'vitest'
import { checkPayload } from '../../src/jobs/check-payload.ts'
import { standardDefaults } from '../../src/jobs/kind.ts'
import { builtInKinds } from '../../src/jobs/kinds.ts'
import { payloadJsonSchema } from '../../src/jobs/payload-json-schema.ts'
import { defineKind, NeverRetry, RetryLater, Snooze, z } from '../../src/index.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'

const good = {
  name: 'resize_image',
  payload: z.object({ url: z.url() }),
  example: { url: 'https://example.org/a.png' },
  run: async () => undefined,
}

/** As a module in plain JavaScript could have it. */
const refusal = (definition: unknown): string => {
  try {
    defineKind(definition as Parameters<typeof defineKind>[0])
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('It was accepted.')
}

test('the form of the documentation is taken as it stands', () => {
  const kind = defineKind({
    ...good,
    description: 'Makes the small pictures.',
    redact: ['/url'],
    defaults: { priority: 7, backoff: { baseMs: 5 }, rateLimit: { rps: 0.5, burst: 1 } },
    async run({ payload, job, progress }) {
      await progress({ done: 1, total: 3, message: 'fetched' })
      const url: string = payload.url
      if (job.attempts === 1) throw new RetryLater(1_000)
      if (job.attempts === 2) throw new Snooze(100)
      if (url === '') throw new NeverRetry('no url')
      return { result: { width: 100 }, commit: async (tx) => void (await tx.query('select $1', [1])) }
    },
    onFailure: async () => undefined,
    schedule: null as never,
  })
  expect(kind).toMatchObject({ name: 'resize_image', redact: ['/url'], inputField: null, schedule: null })
  expect(kind.defaults).toEqual({
    ...standardDefaults,
    priority: 7,
    backoff: { ...standardDefaults.backoff, baseMs: 5 },
    rateLimit: { rps: 0.5, burst: 1 },
  })
})

test('a kind that says least is a kind', () => {
  const kind = defineKind({ name: 'a', payload: z.object({}), run: async () => undefined })
  expect(kind).toMatchObject({ description: '', example: {}, redact: [], defaults: standardDefaults, onFailure: null })
  // What has been checked may be checked again: modules may build kinds from kinds.
  expect(defineKind(kind as never)).toEqual(kind)
})

test.each([
  [{ ...good, name: 'Resize' }, 'name must be 1 to 63 characters'],
  [{ ...good, name: 'a'.repeat(64) }, 'name must be 1 to 63 characters'],
  [{ ...good, name: undefined }, 'The kind without a name: name must be'],
  [{ ...good, description: 5 }, 'description must be a text'],
  [{ ...good, payload: { url: 'string' } }, 'payload must be a zod 4 schema'],
  [{ ...good, example: undefined }, 'example is missing, and the payload {} is not valid (/url: /url is required)'],
  [{ ...good, example: { url: 5 } }, 'example is not a valid payload: /url: '],
  [{ ...good, payload: z.string(), example: 'a' }, 'example is not a valid payload: The payload must be a JSON object'],
  [
    { ...good, payload: z.object({ at: z.date() }), example: { at: new Date() } },
    'example is not a valid payload: /at',
  ],
  [{ ...good, redact: '/url' }, 'redact must be a list'],
  [{ ...good, redact: ['url'] }, 'redact holds "url", which is not a JSON Pointer'],
  [{ ...good, redact: ['/a~2'] }, 'redact holds "/a~2"'],
  [{ ...good, redact: ['/ulr'] }, 'redact holds /ulr, where no payload has anything: what is meant would be shown'],
  [{ ...good, defaults: { priority: 1_001 } }, 'defaults.priority must be a whole number from 0 to 1000'],
  [{ ...good, defaults: { maxAttempts: 0 } }, 'defaults.maxAttempts must be a whole number from 1 to 100'],
  [{ ...good, defaults: { backoff: { jitter: 2 } } }, 'defaults.backoff.jitter must be a number from 0 to 1'],
  [{ ...good, defaults: { backoff: { baseMs: 10, maxMs: 5 } } }, 'defaults.backoff.baseMs (10) is above maxMs (5)'],
  [{ ...good, defaults: { timeoutMs: 2 ** 31 } }, 'defaults.timeoutMs must be'],
  [{ ...good, defaults: { rateLimit: { rps: 0, burst: 1 } } }, 'defaults.rateLimit.rps must be a number above 0'],
  [{ ...good, defaults: { provider: 'My provider' } }, 'defaults.provider must be the name'],
  [{ ...good, defaults: { attempts: 3 } }, 'defaults.attempts is not a default; these are priority, maxAttempts'],
  [{ ...good, run: 'now' }, 'run must be a function'],
  [{ ...good, onFailure: 'log' }, 'onFailure must be a function'],
  [{ ...good, handler: () => undefined }, 'handler is not a field of a kind'],
  [{ ...good, schedule: { every: 'P1M' } }, 'schedule.every must be an ISO 8601 duration'],
  [{ ...good, schedule: { every: 'PT0.5S' } }, 'schedule.every must be 1 second to 366 days'],
  [{ ...good, schedule: { cron: '61 * * * *' } }, 'Invalid value for minute: 61'],
  [{ ...good, schedule: { cron: '* * * *' } }, 'schedule.cron must have five fields'],
  [{ ...good, schedule: { cron: '0 3 * * *', timeZone: 'Europe/Atlantis' } }, 'schedule.timeZone must be a time zone'],
  [{ ...good, schedule: { every: 'PT5M', cron: '* * * * *' } }, 'exactly one of every and cron'],
  [{ ...good, schedule: { every: 'PT5M' } }, 'schedule enqueues the payload {}, which is not valid'],
  [null, 'its definition must be an object'],
])('%o is refused in a sentence that names kind and field', (definition, sentence) => {
  expect(refusal(definition)).toContain(sentence)
})

test.each(Object.keys(builtInKinds))('the name %s is taken', (name) => {
  expect(refusal({ ...good, name })).toContain("name is one of the platform's own kinds")
})

test('everything that is wrong is said at once', () => {
  const message = refusal({ name: 'a', payload: 5, run: 5, defaults: { priority: -1 } })
  expect(message.match(/The kind a: /g)).toHaveLength(3)
})

describe('the published schema', () => {
  test('is that of the input, and leaves open what JSON Schema cannot say', () => {
    const schema = payloadJsonSchema(
      z.object({
        n: z.string().transform(Number).default(5),
        f: z.custom<() => void>().optional(),
        d: z.date().optional(),
      }),
    )
    expect(schema).toMatchObject({ type: 'object', properties: { n: { type: 'string' }, f: {}, d: {} } })
    expect(schema).not.toHaveProperty('required')
  })

  test.each(Object.values(builtInKinds))('of $name takes its example', (kind) => {
    expect(checkPayload(kind.payload, kind.example).ok).toBe(true)
  })
})

describe('the catalogue', () => {
  test("has the built-in kinds and one's own, with what the settings change", () => {
    const own = defineKind(good)
    const catalogue = kindCatalogue([own], {
      resize_image: { priority: 3, backoff: { jitter: 0 } },
      email_send: { staleAfterMs: 5_000, maxAttempts: 3, rateLimit: null },
    })
    expect([...catalogue.keys()]).toEqual([...Object.keys(builtInKinds), 'resize_image'])
    expect(catalogue.get('resize_image')!.defaults).toEqual({
      ...own.defaults,
      priority: 3,
      backoff: { ...own.defaults.backoff, jitter: 0 },
    })
    expect(catalogue.get('email_send')!.defaults).toEqual({
      ...builtInKinds.email_send.defaults,
      staleAfterMs: 5_000,
      maxAttempts: 3,
      rateLimit: null,
    })
  })

  test('refuses a backoff that its own other half makes impossible', () => {
    expect(() => kindCatalogue([], { email_send: { backoff: { maxMs: 10 } } })).toThrow(
      'STELLWERK_KIND_EMAIL_SEND is wrong at backoff',
    )
  })
})
