import type { z } from 'zod'
import { checkPayload } from '../jobs/check-payload.ts'
import { checkSchedule } from '../jobs/check-schedule.ts'
import { StellwerkError } from '../jobs/errors.ts'
import { kindDefaultsRanges, mergeKindDefaults, type PartialKindDefaults } from '../jobs/kind-defaults.ts'
import { standardDefaults, type JobKind, type KindSchedule } from '../jobs/kind.ts'
import { canHave } from '../jobs/can-have.ts'
import { builtInKinds } from '../jobs/kinds.ts'
import { encodePayload } from '../jobs/payload.ts'
import { payloadJsonSchema } from '../jobs/payload-json-schema.ts'
import type { FailureFollower, Handler } from './handler.ts'

/** What one writes to add a kind of one's own. */
export interface KindDefinition<Schema extends z.ZodType> {
  /** a-z, 0-9, _; 1 to 63 characters; not one of the platform's own. */
  readonly name: string
  readonly description?: string
  /** A zod 4 schema of a JSON object; checked when a job is enqueued, and again when it runs. */
  readonly payload: Schema
  /** A valid payload, for people to start from; may be missing where `{}` is one. */
  readonly example?: z.input<Schema>
  /** JSON Pointers of payload parts that are masked without READ_PAYLOADS. */
  readonly redact?: readonly string[]
  /** What is missing here is as in the seed: 8 attempts, 30 s doubling up to 24 h, 5 minutes, stale after 15. */
  readonly defaults?: PartialKindDefaults
  readonly run: Handler<z.output<Schema>>
  /** In the transaction of dlq, stop, cancel, replay and discard, where a process that loaded this module makes the move. */
  readonly onFailure?: FailureFollower
  /** Enqueues the kind with the payload `{}` once per tick over all instances. */
  readonly schedule?: KindSchedule
}

/** A kind of one's own, checked: what the service knows of every kind, and what its jobs run. */
export interface OwnKind extends JobKind {
  readonly run: Handler
  readonly onFailure: FailureFollower | null
}

const fields = [
  'name',
  'description',
  'payload',
  'example',
  'redact',
  'defaults',
  'run',
  'onFailure',
  'schedule',
  'inputField',
]

/** Checks the definition of a kind; throws one error whose sentences name the kind and each field that is wrong. */
export function defineKind<Schema extends z.ZodType>(definition: KindDefinition<Schema>): OwnKind {
  const problems = problemsOf(definition)
  const name = typeof definition?.name === 'string' && definition.name !== '' ? definition.name : 'without a name'
  if (problems.length > 0)
    throw new StellwerkError('BAD_KIND', problems.map((problem) => `The kind ${name}: ${problem}.`).join(' '))
  return {
    name,
    description: definition.description ?? '',
    payload: definition.payload,
    example: definition.example ?? {},
    redact: definition.redact ?? [],
    defaults: mergeKindDefaults(standardDefaults, definition.defaults ?? {}),
    inputField: null,
    schedule: definition.schedule ?? null,
    run: definition.run as Handler,
    onFailure: definition.onFailure ?? null,
  }
}

/** Modules may be plain JavaScript: nothing is taken for granted. */
function problemsOf(definition: unknown): string[] {
  if (typeof definition !== 'object' || definition === null) return ['its definition must be an object']
  const given = definition as Record<string, unknown>
  const strays = Object.keys(given).filter((field) => !fields.includes(field))
  return [
    ...strays.map((field) => `${field} is not a field of a kind; these are ${fields.slice(0, -1).join(', ')}`),
    ...nameProblems(given.name),
    ...(isMissingOr('string', given.description) ? [] : ['description must be a text']),
    ...payloadProblems(given),
    ...redactProblems(given),
    ...defaultsProblems(given.defaults),
    ...(typeof given.run === 'function'
      ? []
      : ['run must be a function: async ({ payload, job, signal, progress, log }) => { ... }']),
    ...(given.onFailure === null || isMissingOr('function', given.onFailure)
      ? []
      : ['onFailure must be a function: async (tx, job, outcome) => { ... }']),
    ...scheduleProblems(given),
  ]
}

function nameProblems(name: unknown): string[] {
  if (typeof name !== 'string' || !/^[a-z0-9_]{1,63}$/.test(name)) {
    return ['name must be 1 to 63 characters of a-z, 0-9 and _']
  }
  return Object.hasOwn(builtInKinds, name) ? ["name is one of the platform's own kinds; choose another"] : []
}

function payloadProblems({ payload, example }: Record<string, unknown>): string[] {
  if (!isZod4(payload))
    return ["payload must be a zod 4 schema, e.g. z.object({ url: z.url() }) with z imported from 'stellwerk'"]
  try {
    payloadJsonSchema(payload)
  } catch (error) {
    return [`payload cannot be published as JSON Schema: ${(error as Error).message}`]
  }
  const issue = firstIssue(payload, example ?? {})
  if (issue === null) return []
  return example === undefined
    ? [`example is missing, and the payload {} is not valid (${issue}); add an example, a valid payload`]
    : [`example is not a valid payload: ${issue}`]
}

function redactProblems({ redact, payload }: Record<string, unknown>): string[] {
  if (redact === undefined) return []
  if (!Array.isArray(redact)) return ["redact must be a list of JSON Pointers such as ['/url']"]
  return redact.flatMap((pointer) => {
    if (typeof pointer !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(pointer))
      return [`redact holds ${JSON.stringify(pointer)}, which is not a JSON Pointer such as /url or /user/name`]
    if (!isZod4(payload) || canHave(payloadJsonSchema(payload), pointer)) return []
    return [`redact holds ${pointer}, where no payload has anything: what is meant would be shown`]
  })
}

function defaultsProblems(defaults: unknown): string[] {
  if (defaults === undefined) return []
  const checked = kindDefaultsRanges.safeParse(defaults)
  if (!checked.success) {
    return checked.error.issues.map((issue) =>
      issue.code === 'unrecognized_keys'
        ? `${['defaults', ...issue.path, issue.keys[0]].join('.')} is not a default; these are ${Object.keys(kindDefaultsRanges.shape).join(', ')}`
        : `${['defaults', ...issue.path].join('.')} ${issue.message.replace(/^Invalid input: .*/, 'is not of the right form')}`,
    )
  }
  return backoffProblem(mergeKindDefaults(standardDefaults, checked.data).backoff)
}

function backoffProblem({ baseMs, maxMs }: { baseMs: number; maxMs: number }): string[] {
  return baseMs <= maxMs ? [] : [`defaults.backoff.baseMs (${baseMs}) is above maxMs (${maxMs})`]
}

function scheduleProblems({ schedule, payload }: Record<string, unknown>): string[] {
  if (schedule === undefined || schedule === null) return []
  const wrong = checkSchedule(schedule)
  if (wrong !== null) return [`${wrong.field} ${wrong.problem}`]
  const issue = isZod4(payload) ? firstIssue(payload, {}) : null
  return issue === null
    ? []
    : [`schedule enqueues the payload {}, which is not valid (${issue}); give its fields defaults`]
}

/** The first thing that the schema has against a value once it went through JSON, with its JSON Pointer; null when it is valid. */
function firstIssue(payload: z.ZodType, value: unknown): string | null {
  try {
    const encoded = encodePayload(value)
    const checked = encoded.ok
      ? checkPayload(payload, JSON.parse(encoded.text))
      : { ok: false as const, problems: [encoded.problem] }
    if (checked.ok) return null
    const { pointer, message } = checked.problems[0]!
    return `${pointer === '' ? '' : `${pointer}: `}${message.replace(/\.$/, '')}`
  } catch (error) {
    return (error as Error).message
  }
}

function isZod4(payload: unknown): payload is z.ZodType {
  return typeof payload === 'object' && payload !== null && '_zod' in payload && 'safeParse' in payload
}

function isMissingOr(type: 'string' | 'function', value: unknown): boolean {
  return value === undefined || typeof value === type
}
