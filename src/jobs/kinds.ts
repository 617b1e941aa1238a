import { z } from 'zod'
import { emailSendPayload } from './email-send-payload.ts'

/** What holds for the jobs of a kind unless the enqueuer says otherwise. Times in milliseconds. */
export interface KindDefaults {
  /** Lower runs first; 0 to 1,000. */
  readonly priority: number
  /** At this many attempts a failure goes to the dead-letter queue; 1 to 100. */
  readonly maxAttempts: number
  /** delay(n) = min(baseMs * 2^(n-1), maxMs) + random(0 .. jitter * delay) (SPEC section 5). */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number; readonly jitter: number }
  /** A run longer than this is aborted. */
  readonly timeoutMs: number
  /** A claim older than this without a heartbeat is taken back. */
  readonly staleAfterMs: number
  /** At most this many running at once over all instances; null: no cap. */
  readonly maxConcurrency: number | null
  /** How long finished jobs are kept; null: STELLWERK_RETENTION_DAYS. */
  readonly retentionMs: number | null
  /** Token bucket per tenant, unless the tenant has its own; null: none. */
  readonly rateLimit: { readonly rps: number; readonly burst: number } | null
  /** Name of the provider whose cap (STELLWERK_PROVIDER_<NAME>) its runs share; null: none. */
  readonly provider: string | null
}

/** A kind of work: what its payload is and how its jobs are treated. Pure data, known to API and workers alike. */
export interface JobKind {
  readonly name: string
  readonly description: string
  readonly payload: z.ZodType
  readonly example: unknown
  /** JSON Pointers of payload parts that are masked without READ_PAYLOADS. */
  readonly redact: readonly string[]
  readonly defaults: KindDefaults
  /** The field of the GraphQL input `JobInput` that enqueues it typed; null: `custom`. */
  readonly inputField: string | null
  readonly schedule: KindSchedule | null
}

/** When a kind enqueues itself, once per tick over all instances. */
export type KindSchedule = { readonly every: string } | { readonly cron: string; readonly timeZone?: string }

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** V1 backoff of the seed: 30 s, doubling up to 24 h, 10 % jitter. */
export const standardDefaults: KindDefaults = {
  priority: 100,
  maxAttempts: 8,
  backoff: { baseMs: 30 * second, maxMs: 24 * hour, jitter: 0.1 },
  timeoutMs: 5 * minute,
  staleAfterMs: 15 * minute,
  maxConcurrency: null,
  retentionMs: null,
  rateLimit: null,
  provider: null,
}

/** Names that belong to the platform, whether this version serves them or not. */
export const reservedKindNames = [
  'email_send',
  'bulk_import',
  'reindex',
  'outbox_dispatch',
  'cleanup_jobs',
  'virus_scan',
  'index_sync',
  'gin_backfill',
  'document_process',
] as const

/** The platform's own kinds. A handler missing for one of them does not compile (workers/handlers). */
export const builtInKinds = {
  email_send: {
    name: 'email_send',
    description: 'Sends one email to one recipient through the configured provider.',
    payload: emailSendPayload,
    example: {
      to: { address: 'ada@example.org', name: 'Ada' },
      content: { subject: 'Welcome', text: 'Hello Ada.' },
      category: 'transactional',
    },
    redact: ['/to', '/content', '/template/variables', '/reply_to', '/headers'],
    defaults: {
      ...standardDefaults,
      priority: 50,
      backoff: { baseMs: 30 * second, maxMs: 6 * hour, jitter: 0.1 },
      timeoutMs: minute,
      staleAfterMs: 5 * minute,
      retentionMs: 30 * day,
      rateLimit: { rps: 10, burst: 20 },
      provider: 'smtp',
    },
    inputField: 'emailSend',
    schedule: null,
  },
  cleanup_jobs: {
    name: 'cleanup_jobs',
    description: 'Takes stale claims back, deletes done jobs whose time is over, keeps the journal in months.',
    payload: z.strictObject({}),
    example: {},
    redact: [],
    defaults: {
      ...standardDefaults,
      priority: 0,
      maxAttempts: 3,
      backoff: { baseMs: 10 * second, maxMs: minute, jitter: 0.1 },
      timeoutMs: 4 * minute,
      staleAfterMs: 10 * minute,
      retentionMs: 2 * day,
    },
    inputField: null,
    schedule: { every: 'PT5M' },
  },
} as const satisfies Record<string, JobKind>

export type BuiltInKind = keyof typeof builtInKinds

/** Kinds that run in a slot of their own beside the pools, so that they never wait behind other work. */
export const kindsWithOwnSlot: readonly string[] = ['cleanup_jobs'] satisfies BuiltInKind[]

/** All kinds that a process knows, by name. */
export type KindCatalogue = ReadonlyMap<string, JobKind>
