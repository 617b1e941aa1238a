import { checkPayload } from '../jobs/check-payload.ts'
import { StellwerkError } from '../jobs/errors.ts'
import type { JobKind } from '../jobs/kind.ts'
import { builtInKinds } from '../jobs/kinds.ts'
import { nearestName } from '../jobs/nearest-name.ts'
import { encodePayload, type PayloadProblem } from '../jobs/payload.ts'
import { enqueueOne, type EnqueueInput, type Enqueued } from './enqueue-job.ts'
import type { Queryable } from './statement.ts'

/** A client, pool or transaction of `pg`. */
interface PgTransaction {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

/** A Prisma client, or the `tx` of its `$transaction(async (tx) => ...)`. */
interface PrismaTransaction {
  $queryRawUnsafe<Rows>(text: string, ...values: unknown[]): PromiseLike<Rows>
}

/** What a job can be enqueued through. */
export type EnqueueTransaction = PgTransaction | PrismaTransaction

/** A job to enqueue; `kind` is a name, or a kind made with `defineKind`, whose schema is then checked here. */
export type EnqueueJob = Omit<EnqueueInput, 'kind'> & { readonly kind: string | JobKind }

/**
 * Enqueues a job in the caller's own transaction: it exists if and only if that commits. The payload is checked here as far as
 * its schema is known; what is wrong with it or with the job throws, and nothing is written.
 */
export async function enqueue(tx: EnqueueTransaction, job: EnqueueJob): Promise<Enqueued> {
  const stray = Object.keys(job).find((option) => !(options as readonly string[]).includes(option))
  // Passed over, a key with a typing mistake would make two jobs of one.
  if (stray !== undefined)
    throw new StellwerkError(
      'VALIDATION_FAILED',
      `${stray} is not an option of enqueue; the nearest is ${nearestName(stray, options)}. These are ${options.join(', ')}.`,
    )
  const name = typeof job.kind === 'string' ? job.kind : job.kind.name
  const encoded = encodePayload(job.payload)
  if (!encoded.ok) throw refused(name, encoded.problem)
  const schema = typeof job.kind === 'string' ? builtInSchema(job.kind) : job.kind.payload
  const checked = schema === undefined ? null : checkPayload(schema, JSON.parse(encoded.text))
  if (checked?.ok === false) throw refused(name, checked.problems[0]!)
  return enqueueOne(queryable(tx), { ...job, kind: name })
}

const options = [
  'kind',
  'payload',
  'tenant',
  'idempotencyKey',
  'onConflict',
  'priority',
  'availableAt',
  'maxAttempts',
  'tags',
  'correlationId',
] as const satisfies readonly (keyof EnqueueJob)[]

function builtInSchema(name: string): JobKind['payload'] | undefined {
  return Object.hasOwn(builtInKinds, name) ? builtInKinds[name as keyof typeof builtInKinds].payload : undefined
}

function refused(kind: string, { pointer, message }: PayloadProblem): StellwerkError {
  return new StellwerkError(
    'VALIDATION_FAILED',
    `The payload of ${kind} is refused${pointer === '' ? '' : ` at ${pointer}`}: ${message}`,
  )
}

/** Without prepared names: the caller's client may go through a pooler. */
function queryable(tx: EnqueueTransaction): Queryable {
  if ('$queryRawUnsafe' in tx) {
    return {
      async query({ text, values = [] }) {
        const rows = await tx.$queryRawUnsafe<unknown[]>(text, ...values)
        return { rows, rowCount: rows.length }
      },
    }
  }
  return { query: ({ text, values = [] }) => tx.query(text, values) }
}
