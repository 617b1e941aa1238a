import { isIP } from 'node:net'
import { z } from 'zod'
import { kindDefaultsRanges, type PartialKindDefaults } from './jobs/kind-defaults.ts'
import {
  addressRange,
  isOrigin,
  json,
  list,
  mailbox,
  milliseconds,
  oneOf,
  onOff,
  secret,
  text,
  url,
  whole,
} from './setting-readers.ts'
import type { Reader } from './setting-readers.ts'

const wholeField = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}
const rateField = (max: number) => {
  const error = `must be a number above 0, at most ${max}`
  return z.number({ error }).gt(0, { error }).max(max, { error })
}
const nameField = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(63, { error: 'must have at most 63 characters' })
const nameList = z.array(nameField).min(1, { error: 'must name at least one; leave the field out for all' })

const rateLimit = kindDefaultsRanges.shape.rateLimit.unwrap().unwrap()

const pool = z.strictObject({
  name: nameField,
  slots: wholeField(1, 10_000),
  kinds: nameList.nullable().default(null),
  tenants: nameList.nullable().default(null),
  dispatch: z.enum(['fair', 'priority'], { error: 'must be "fair" or "priority"' }).default('fair'),
})

const pools = z
  .array(pool)
  .min(1, { error: 'must hold at least one pool; STELLWERK_WORKERS=0 means no workers' })
  .superRefine((entries, context) => {
    entries.forEach(({ name }, index) => {
      const first = entries.findIndex((entry) => entry.name === name)
      if (first < index) {
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `is the name of [${first}] already`,
        })
      }
    })
  })

/** An empty host is a local socket. */
const postgresUrl = url('a postgres:// or postgresql:// URL', ['postgres', 'postgresql'], () => true)

/** One setting: how it is read, the text that stands for "not set" (null: there is none) and what it means. */
export interface Setting<Value> {
  readonly reader: Reader<Value>
  readonly fallback: string | null
  /** What "not set" means where no text stands for it. */
  readonly otherwise: string
  readonly meaning: string
}

/** A setting with a default, written as one would set it and read by the same reader. */
const setting = <Value>(
  reader: Reader<Value>,
  fallback: string,
  meaning: string,
): Setting<Value> & { readonly fallback: string } => ({ reader, fallback, otherwise: fallback, meaning })

/** A setting without a default: null in the configuration where it is not set, which means `otherwise`. */
const optional = <Value>(
  reader: Reader<Value>,
  otherwise: string,
  meaning: string,
): Setting<Value> & { readonly fallback: null } => ({ reader, fallback: null, otherwise, meaning })

/** Every setting of the product; `docs/settings.md` is written from this table. */
export const settings = {
  PORT: setting(whole(0, 65_535), '4000', 'Port where HTTP listens. 0 takes any free one and prints it.'),
  HOST: setting(
    text('an address or a host name', (value) => isIP(value) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)),
    '127.0.0.1',
    'Address where HTTP listens; 0.0.0.0 for all of IPv4.',
  ),
  DATABASE_URL: optional(postgresUrl, 'the embedded PostgreSQL, in the data directory', 'PostgreSQL, 16 or newer.'),
  DATABASE_DIRECT_URL: optional(
    postgresUrl,
    'DATABASE_URL',
    'Direct connection for workers, LISTEN and DDL where DATABASE_URL goes through a transaction pooler; then only the reads of the API use the pooler.',
  ),
  REDIS_URL: optional(
    url('a redis:// or rediss:// URL', ['redis', 'rediss']),
    'no Redis',
    'Not served yet: the start warns that it has no effect. Redis for rate-limit buckets and wake-ups that instances share; only hints go through it.',
  ),
  SMTP_URL: optional(
    url('an smtp:// or smtps:// URL', ['smtp', 'smtps']),
    'the development mailbox; in production email_send is not served, its jobs wait with NO_WORKER',
    'The provider that email_send sends through.',
  ),
  CLAMD_URL: optional(
    url('tcp://host:port or unix:///path', ['tcp', 'unix'], ({ protocol, hostname, port, pathname }) =>
      protocol === 'tcp:' ? hostname !== '' && port !== '' : hostname === '' && pathname.length > 1,
    ),
    'virus_scan is not served',
    'The ClamAV daemon that virus_scan asks.',
  ),
  LOG_LEVEL: setting(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'The least severe lines that are logged. Claims are logged at debug.',
  ),
  STELLWERK_DATA_DIR: setting(
    text('a path'),
    '.stellwerk',
    'Directory of the embedded database, the ack journal, local objects, the secrets of development and the run files.',
  ),
  STELLWERK_KINDS: optional(
    text('a path of a .ts or .js module'),
    'the built-in kinds only',
    'Module that exports `kinds`: job kinds of your own.',
  ),
  STELLWERK_WORKERS: setting(
    whole(0, 10_000),
    '4',
    'Slots of the default pool. 0: no workers in this process, whatever STELLWERK_POOLS says.',
  ),
  STELLWERK_POOLS: optional(
    json('a list of {name, slots, kinds?, tenants?, dispatch?}', pools),
    'one pool named default, for all kinds and tenants, fair, with STELLWERK_WORKERS slots',
    'Pools instead of the default one: `name` is unique, `slots` 1 to 10000, `kinds` and `tenants` limit what the pool serves, `dispatch` is fair (default) or priority.',
  ),
  STELLWERK_API: setting(onOff, 'on', 'off: workers only; metrics and health stay.'),
  STELLWERK_ENV: optional(
    oneOf('development', 'production'),
    'development on the embedded database, else production',
    'production: no development mailbox, no generated secret or token, GraphiQL for admins only. development may be set with DATABASE_URL too.',
  ),
  STELLWERK_JWT_SECRET: optional(
    secret('a secret'),
    'a generated one in development; none in production',
    'Key of HS256 tokens; at least 32 characters in production. Production needs it, STELLWERK_JWKS_URL, or an API key in the database.',
  ),
  STELLWERK_JWKS_URL: optional(
    url('an http:// or https:// URL', ['http', 'https']),
    'none',
    'Where the public keys of RS256, ES256 and EdDSA tokens are published.',
  ),
  STELLWERK_JWT_AUDIENCE: setting(text('an audience'), 'stellwerk', 'The `aud` that a token must carry.'),
  STELLWERK_JWT_ISSUER: optional(text('an issuer'), 'any', 'The `iss` that a token must carry.'),
  STELLWERK_ALLOWED_ORIGINS: optional(
    list('origins such as https://app.example.org', isOrigin),
    'the own origin only',
    'Origins beyond the own one that may call by CORS and WebSocket.',
  ),
  STELLWERK_TRUST_PROXY: optional(
    list('addresses or CIDR ranges', addressRange),
    'none',
    'Proxies whose X-Forwarded-For counts.',
  ),
  STELLWERK_METRICS_TOKEN: optional(
    secret('a token'),
    'no token; in production /metrics answers on loopback only',
    'Bearer token for /metrics.',
  ),
  STELLWERK_SERVICE_BUDGET: optional(
    json(
      '{limit, perSecond}',
      z.strictObject({ limit: wholeField(1, 1_000_000_000), perSecond: rateField(1_000_000_000) }),
    ),
    'services have no budget',
    'Cost points that a service may spend at once, and that it gets back each second.',
  ),
  STELLWERK_SECRET_KEY: optional(
    secret('a key'),
    'a generated one in development; none in production, then no secret can be stored and no file uploaded but to a bucket',
    'Encrypts stored secrets (webhook endpoints) and signs the URLs of files; at least 32 characters in production.',
  ),
  STELLWERK_WEBHOOK_ALLOW: optional(
    list('addresses or CIDR ranges', addressRange),
    'public addresses only',
    'Ranges that webhooks may reach although they are not public, e.g. 127.0.0.0/8 in development.',
  ),
  STELLWERK_MAIL_FROM: setting(
    text('an address, or a name and an address in angle brackets', (value) => mailbox.test(value)),
    'stellwerk@localhost',
    'Default sender of emails.',
  ),
  STELLWERK_MAIL_DOMAIN: optional(
    text('a domain', (value) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)),
    'the domain of STELLWERK_MAIL_FROM',
    'Domain of Message-IDs.',
  ),
  STELLWERK_MAIL_SENDERS: optional(
    json(
      'an object of sender keys and addresses',
      z.record(
        nameField,
        z.string().regex(mailbox, { error: 'must be an address, or a name and an address in angle brackets' }),
      ),
    ),
    'none',
    'Senders that a job may name by key, e.g. {"billing": "Billing <billing@example.org>"}.',
  ),
  STELLWERK_MAIL_WEBHOOK_SECRET: optional(
    secret('a secret'),
    'the generic form of bounce reports is not served',
    'Key of the signatures on POST /webhooks/email/smtp.',
  ),
  STELLWERK_MAIL_SNS_TOPICS: optional(
    list('ARNs of SNS topics', (value) => /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]{1,256}$/.test(value)),
    'reports of Amazon SES are not served',
    'The SNS topics through which Amazon SES reports to POST /webhooks/email/ses.',
  ),
  STELLWERK_ARCHIVE_DIR: optional(
    text('a path'),
    'the bucket, if there is one, else `archive` in the data directory',
    'Directory where archived documents lie. Workers only read there; instances that serve the same jobs share it.',
  ),
  TESSERACT_BIN: optional(
    text('a path, or off'),
    'the one in PATH, else tesseract.js',
    'The program that recognises text in pictures; off: tesseract.js always.',
  ),
  STELLWERK_OCR_LANGUAGES: optional(
    list('language codes such as deu, eng or chi_sim', (value) => /^[a-z]{3}(?:_[a-z]{2,12}){0,2}$/.test(value)),
    'deu,eng',
    'Languages in which text is recognised, the likeliest first; each more makes it slower. Others than these need their data: e.g. `tesseract-ocr-fra` of Debian, or `@tesseract.js-data/fra` of npm.',
  ),
  PDFTOPPM_BIN: optional(
    text('a path, or off'),
    'the one in PATH, else the PDF library',
    'The program that draws pages of PDFs whose text has to be recognised; off: the PDF library always.',
  ),
  STELLWERK_OBJECTS_DIR: optional(
    text('a path'),
    '`objects` in the data directory',
    'Directory where uploads and attachments lie unless there is a bucket. Instances that serve the same jobs share one.',
  ),
  STELLWERK_PUBLIC_URL: optional(
    url(
      'an http:// or https:// URL without a query',
      ['http', 'https'],
      ({ search, hash }) => search === '' && hash === '',
    ),
    'the address where HTTP listens',
    'Where callers reach this service: the beginning of the URLs under which bytes are put and read.',
  ),
  STELLWERK_S3_BUCKET: optional(
    text('a bucket name'),
    'objects lie in the data directory',
    'Bucket where objects lie.',
  ),
  STELLWERK_S3_ENDPOINT: optional(
    url('an http:// or https:// URL', ['http', 'https']),
    'Amazon S3',
    'Address of another S3-compatible store.',
  ),
  STELLWERK_S3_REGION: setting(text('a region'), 'us-east-1', 'Region of the bucket.'),
  STELLWERK_S3_ACCESS_KEY_ID: optional(
    secret('an access key id'),
    'the credentials of the environment',
    'Access key of the store.',
  ),
  STELLWERK_S3_SECRET_ACCESS_KEY: optional(
    secret('a secret access key'),
    'the credentials of the environment',
    'Secret of that access key.',
  ),
  STELLWERK_S3_PATH_STYLE: setting(
    onOff,
    'off',
    'on: the bucket stands in the path, as stores other than Amazon need it.',
  ),
  STELLWERK_S3_PREFIX: optional(
    text('a path of letters, digits, ., _ and -', (value) => /^[\w.-]+(\/[\w.-]+)*$/.test(value)),
    'none',
    'Stands before the keys of all objects in the bucket.',
  ),
  STELLWERK_MIGRATE: setting(
    onOff,
    'on',
    'off: refuse to start on a database that is behind, instead of migrating it.',
  ),
  STELLWERK_MAX_UPLOAD_MB: setting(whole(1, 10_240), '100', 'Largest upload, in MiB.'),
  STELLWERK_POLL_MS: setting(milliseconds, '1000', 'Poll for due jobs that no wake-up told of.'),
  STELLWERK_HEARTBEAT_MS: setting(milliseconds, '5000', 'How often an instance says that it lives.'),
  STELLWERK_DEAD_AFTER_MS: setting(
    milliseconds,
    '30000',
    'An instance not heard of for so long is dead, and its jobs are recovered; more than twice STELLWERK_HEARTBEAT_MS.',
  ),
  STELLWERK_MAINTENANCE_MS: setting(milliseconds, '10000', 'How often dead instances and stale claims are looked for.'),
  STELLWERK_CLEANUP_TICK_MS: setting(
    milliseconds,
    '300000',
    'How often a cleanup_jobs job is enqueued, once over all instances.',
  ),
  STELLWERK_SHUTDOWN_MS: setting(milliseconds, '25000', 'A graceful shutdown takes no longer.'),
  STELLWERK_ABORT_GRACE_MS: setting(milliseconds, '10000', 'From the AbortSignal of a handler to giving its claim up.'),
  STELLWERK_ABANDON_MS: setting(
    milliseconds,
    '60000',
    'From giving the claim up to replacing the slot of a handler that still has not ended.',
  ),
  STELLWERK_RETENTION_DAYS: setting(
    whole(1, 3660),
    '30',
    'How long done jobs are kept, for kinds that set no time of their own.',
  ),
  STELLWERK_AUDIT_MONTHS: setting(whole(1, 240), '13', 'How long the journal is kept; at least as long as done jobs.'),
} satisfies Record<string, Setting<unknown>>

/** Settings whose names end in the lower-case name of a thing, in capitals. */
export const settingFamilies = [
  {
    of: 'kind',
    prefix: 'STELLWERK_KIND_',
    setting: optional(
      json("an object of the kind's defaults", kindDefaultsRanges),
      "the kind's own defaults",
      `Overrides defaults of a kind, e.g. STELLWERK_KIND_EMAIL_SEND='{"staleAfterMs":5000,"maxAttempts":3}'. Fields: ${Object.keys(kindDefaultsRanges.shape).join(', ')}; backoff may name some of its fields only.`,
    ),
  },
  {
    of: 'provider',
    prefix: 'STELLWERK_PROVIDER_',
    setting: optional(json('{rps, burst}', rateLimit), 'no cap', 'Caps a provider over all tenants.'),
  },
] as const

/** The name of a setting of its own. */
export type SettingName = keyof typeof settings
/** The settings as read: null where one is not set and has no default. */
export type SettingValues = { readonly [Name in SettingName]: SettingValue<(typeof settings)[Name]> }
type SettingValue<Of> = Of extends Setting<infer Value> & { readonly fallback: infer Fallback }
  ? Value | (Fallback extends string ? never : null)
  : never
/** The settings whose names end in a name. */
export interface SettingFamilyValues {
  readonly kind: ReadonlyMap<string, PartialKindDefaults>
  readonly provider: ReadonlyMap<string, z.infer<typeof rateLimit>>
}
