import { z } from 'zod'
import { checkPayload } from '../jobs/check-payload.ts'
import { meantName } from '../jobs/nearest-name.ts'
import type { PayloadProblem } from '../jobs/payload.ts'
import { readKinds, type RegisteredKind } from '../sql/read-kinds.ts'
import type { RequestContext } from './context.ts'

export type PayloadVerdict =
  | { readonly known: true; readonly problems: readonly PayloadProblem[] }
  /** There is no such kind. */
  | { readonly known: false; readonly message: string }

/**
 * What is wrong with a payload for its kind. A kind that only other instances know is checked by the JSON Schema that they registered;
 * what that cannot say is checked by the worker before it runs.
 */
export function findPayloadProblems(
  kind: string,
  payload: unknown,
  context: RequestContext,
): PayloadVerdict | Promise<PayloadVerdict> {
  const own = context.deps.kinds.get(kind)
  return own === undefined ? askOthers(kind, payload, context) : verdict(own.payload, payload)
}

async function askOthers(kind: string, payload: unknown, context: RequestContext): Promise<PayloadVerdict> {
  const registered = /^[a-z0-9_]{1,63}$/.test(kind) ? await context.loaders.kinds.load(kind) : null
  if (registered === null) return { known: false, message: await unknownKind(kind, context) }
  const schema = registeredSchema(registered)
  return schema === null ? sound : verdict(schema, payload)
}

const sound: PayloadVerdict = { known: true, problems: [] }

function verdict(schema: z.ZodType, payload: unknown): PayloadVerdict {
  const checked = checkPayload(schema, payload)
  return checked.ok ? sound : { known: true, problems: checked.problems }
}

async function unknownKind(kind: string, context: RequestContext): Promise<string> {
  const registered = await readKinds(context.deps.pools.api, null)
  const nearest = meantName(kind, new Set([...context.deps.kinds.keys(), ...registered.map(({ name }) => name)]))
  return `There is no kind of this name.${nearest === null ? '' : ` Did you mean ${nearest}?`} The query jobKinds lists all.`
}

/** Null: a schema that uses what zod cannot read. */
function registeredSchema({ payloadSchema }: RegisteredKind): z.ZodType | null {
  try {
    return z.fromJSONSchema(payloadSchema)
  } catch {
    return null
  }
}
