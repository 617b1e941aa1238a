import type { JobKind } from '../jobs/kind.ts'
import { standardDefaults } from '../jobs/kind.ts'
import { payloadJsonSchema } from '../jobs/payload-json-schema.ts'
import type { RegisteredKind } from '../sql/read-kinds.ts'
import type { RequestContext } from './context.ts'

const views = new WeakMap<JobKind, RegisteredKind>()

/**
 * A kind by its name: as this process knows it, else as the instance that serves it registered it. Jobs inserted by hand may name
 * a kind that nobody ever registered: it has a name and the standard defaults, nothing else.
 */
export function kindView(name: string, context: RequestContext): RegisteredKind | Promise<RegisteredKind> {
  const own = context.deps.kinds.get(name)
  if (own !== undefined) return ownView(own)
  return context.loaders.kinds.load(name).then((registered) => registered ?? unregistered(name))
}

function ownView(kind: JobKind): RegisteredKind {
  let view = views.get(kind)
  if (view === undefined) {
    view = {
      ...flat(kind),
      payloadSchema: payloadJsonSchema(kind.payload),
      payloadExample: kind.example,
      redactedPaths: kind.redact,
      inputField: kind.inputField,
    }
    views.set(kind, view)
  }
  return view
}

function unregistered(name: string): RegisteredKind {
  return {
    ...flat({ name, description: '', defaults: standardDefaults }),
    payloadSchema: {},
    payloadExample: {},
    redactedPaths: [],
    inputField: null,
  }
}

function flat({ name, description, defaults }: Pick<JobKind, 'name' | 'description' | 'defaults'>) {
  const { backoff, priority, maxAttempts, timeoutMs, staleAfterMs, maxConcurrency, retentionMs, rateLimit } = defaults
  return {
    name,
    description,
    priority,
    maxAttempts,
    timeoutMs,
    staleAfterMs,
    maxConcurrency,
    retentionMs,
    rateLimit,
    backoffBaseMs: backoff.baseMs,
    backoffMaxMs: backoff.maxMs,
    backoffJitter: backoff.jitter,
  }
}
