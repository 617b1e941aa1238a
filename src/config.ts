import { nearestName } from './jobs/nearest-name.ts'
import type { Read } from './setting-readers.ts'
import { settingFamilies, settings } from './settings.ts'
import type { Setting, SettingFamilyValues, SettingName, SettingValues } from './settings.ts'

const day = 24 * 60 * 60 * 1000

/** Everything that is set from outside, checked; what each field means stands beside its setting in settings.ts. */
export type Config = DeepReadonly<ReturnType<typeof assemble>>

/** What an operator changes about a kind; a field that is missing keeps the kind's own value. */
export type KindOverride = Config['kindOverrides'][string]

/** The settings cannot be used; `problems` holds a whole sentence for each thing that is wrong, all at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The settings cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Reads and checks all settings of `env` at once; an empty string counts as not set. Throws ConfigError. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = []
  const given = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const texts = new Map(given)

  const values: Partial<Record<SettingName, unknown>> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const read = readSetting(name, setting, texts.get(name))
    if ('problems' in read) problems.push(...read.problems)
    else values[name as SettingName] = read.value
  }
  const families = { kind: new Map<string, unknown>(), provider: new Map<string, unknown>() }
  for (const [name, text] of given) {
    if (!name.startsWith('STELLWERK_') || name in settings) continue
    const family = settingFamilies.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length)
    if (!family) {
      problems.push(unknownSetting(name))
      continue
    }
    const read = readSetting(name, family.setting, text)
    if ('problems' in read) problems.push(...read.problems)
    else families[family.of].set(name.slice(family.prefix.length).toLowerCase(), read.value)
  }
  if (problems.length > 0) throw new ConfigError(problems)

  const config = assemble(values as SettingValues, families as unknown as SettingFamilyValues, withoutEffect(texts))
  const clashes = checkRelations(config, texts)
  if (clashes.length > 0) throw new ConfigError(clashes)
  return config
}

/** A sentence for each STELLWERK_KIND_<NAME> whose kind this process does not know: a typing mistake that would change nothing. */
export function checkKindOverrides(config: Config, kindNames: readonly string[]): string[] {
  return Object.keys(config.kindOverrides)
    .filter((kind) => !kindNames.includes(kind))
    .map((kind) => {
      const nearest = nearestName(kind, kindNames)
      const hint = nearest ? `the nearest known one is STELLWERK_KIND_${nearest.toUpperCase()}` : 'no kind is known'
      return `STELLWERK_KIND_${kind.toUpperCase()} overrides the kind ${kind}, which does not exist; ${hint}. Correct the name, or remove the setting.`
    })
}

/** A sentence for each kind that a pool names and this process does not know: its jobs would wait without a word. */
export function checkPoolKinds({ pools }: Pick<Config, 'pools'>, kindNames: readonly string[]): string[] {
  return pools.flatMap(({ name, kinds }) =>
    (kinds ?? [])
      .filter((kind) => !kindNames.includes(kind))
      .map(
        (kind) =>
          `STELLWERK_POOLS: the pool ${name} names the kind ${kind}, which does not exist; the nearest known one is ${nearestName(kind, kindNames)}. Correct the name, or load the kind by STELLWERK_KINDS.`,
      ),
  )
}

type DeepReadonly<Of> = Of extends object ? { readonly [Key in keyof Of]: DeepReadonly<Of[Key]> } : Of

function readSetting(
  name: string,
  { reader, fallback, otherwise }: Setting<unknown>,
  given: string | undefined,
): Read<unknown> {
  const value = given ?? fallback
  if (value === null) return { value: null }
  const read = reader.read(value)
  if ('value' in read) return read
  return {
    problems: read.problems.map((problem) => `${name} ${problem}. Correct it, or unset it (then: ${otherwise}).`),
  }
}

function unknownSetting(name: string): string {
  const known = [...Object.keys(settings), ...settingFamilies.map(({ prefix }) => `${prefix}<NAME>`)]
  // Without the prefix that all share, so that STELLWERK_PORT finds PORT.
  const bare = new Map(known.map((full) => [full.replace(/^STELLWERK_/, ''), full]))
  const nearest = bare.get(nearestName(name.replace(/^STELLWERK_/, ''), bare.keys())!)
  return `${name} is not a setting; the nearest known one is ${nearest}. Correct the name, or remove it.`
}

/** What is accepted before it is built: who sets it must hear that nothing heeds it. */
function withoutEffect(texts: ReadonlyMap<string, string>): string[] {
  return [...texts.keys()].filter((name) => name === 'REDIS_URL' || name.startsWith('OTEL_')).toSorted()
}

function assemble(value: SettingValues, families: SettingFamilyValues, unheeded: readonly string[]) {
  const mailFrom = value.STELLWERK_MAIL_FROM
  const defaultPool = {
    name: 'default',
    slots: value.STELLWERK_WORKERS,
    kinds: null,
    tenants: null,
    dispatch: 'fair' as const,
  }
  return {
    env: value.STELLWERK_ENV ?? (value.DATABASE_URL === null ? 'development' : 'production'),
    logLevel: value.LOG_LEVEL,
    dataDir: value.STELLWERK_DATA_DIR,
    kindsModule: value.STELLWERK_KINDS,
    http: { host: value.HOST, port: value.PORT },
    api: value.STELLWERK_API,
    /** `url` null: the embedded PostgreSQL; `directUrl` is `url` where no other is set. */
    database: { url: value.DATABASE_URL, directUrl: value.DATABASE_DIRECT_URL ?? value.DATABASE_URL },
    migrate: value.STELLWERK_MIGRATE,
    redisUrl: value.REDIS_URL,
    /** Names of settings that were given and have no effect yet. */
    unheeded,
    /** Empty: no workers in this process. */
    pools: value.STELLWERK_WORKERS === 0 ? [] : (value.STELLWERK_POOLS ?? [defaultPool]),
    kindOverrides: Object.fromEntries(families.kind),
    providers: Object.fromEntries(families.provider),
    pollMs: value.STELLWERK_POLL_MS,
    heartbeatMs: value.STELLWERK_HEARTBEAT_MS,
    deadAfterMs: value.STELLWERK_DEAD_AFTER_MS,
    maintenanceMs: value.STELLWERK_MAINTENANCE_MS,
    cleanupTickMs: value.STELLWERK_CLEANUP_TICK_MS,
    shutdownMs: value.STELLWERK_SHUTDOWN_MS,
    abortGraceMs: value.STELLWERK_ABORT_GRACE_MS,
    abandonMs: value.STELLWERK_ABANDON_MS,
    retentionDays: value.STELLWERK_RETENTION_DAYS,
    auditMonths: value.STELLWERK_AUDIT_MONTHS,
    auth: {
      jwtSecret: value.STELLWERK_JWT_SECRET,
      jwksUrl: value.STELLWERK_JWKS_URL,
      audience: value.STELLWERK_JWT_AUDIENCE,
      issuer: value.STELLWERK_JWT_ISSUER,
    },
    allowedOrigins: value.STELLWERK_ALLOWED_ORIGINS ?? [],
    trustProxy: value.STELLWERK_TRUST_PROXY ?? [],
    metricsToken: value.STELLWERK_METRICS_TOKEN,
    serviceBudget: value.STELLWERK_SERVICE_BUDGET,
    secretKey: value.STELLWERK_SECRET_KEY,
    webhookAllow: value.STELLWERK_WEBHOOK_ALLOW ?? [],
    smtpUrl: value.SMTP_URL,
    mail: {
      from: mailFrom,
      domain: value.STELLWERK_MAIL_DOMAIN ?? mailFrom.slice(mailFrom.lastIndexOf('@') + 1).replace('>', ''),
      senders: value.STELLWERK_MAIL_SENDERS ?? {},
    },
    /** Who may report bounces and complaints. */
    mailReports: { secret: value.STELLWERK_MAIL_WEBHOOK_SECRET, snsTopics: value.STELLWERK_MAIL_SNS_TOPICS ?? [] },
    clamdUrl: value.CLAMD_URL,
    archiveDir: value.STELLWERK_ARCHIVE_DIR,
    /** Programs; null: looked for. Languages; null: those whose data comes with the packages. */
    ocr: {
      tesseract: value.TESSERACT_BIN,
      pdftoppm: value.PDFTOPPM_BIN,
      languages: value.STELLWERK_OCR_LANGUAGES,
    },
    s3:
      value.STELLWERK_S3_BUCKET === null
        ? null
        : {
            bucket: value.STELLWERK_S3_BUCKET,
            endpoint: value.STELLWERK_S3_ENDPOINT,
            region: value.STELLWERK_S3_REGION,
            accessKeyId: value.STELLWERK_S3_ACCESS_KEY_ID,
            secretAccessKey: value.STELLWERK_S3_SECRET_ACCESS_KEY,
            pathStyle: value.STELLWERK_S3_PATH_STYLE,
            prefix: value.STELLWERK_S3_PREFIX,
          },
    objectsDir: value.STELLWERK_OBJECTS_DIR,
    publicUrl: value.STELLWERK_PUBLIC_URL,
    maxUploadBytes: value.STELLWERK_MAX_UPLOAD_MB * 1024 * 1024,
  }
}

/** What is wrong only in company: each setting is good by itself. */
function checkRelations(config: Config, texts: ReadonlyMap<string, string>): string[] {
  const problems: string[] = []
  const refuse = (when: boolean, sentence: string) => void (when && problems.push(sentence))

  refuse(
    config.deadAfterMs <= 2 * config.heartbeatMs,
    `STELLWERK_DEAD_AFTER_MS is ${config.deadAfterMs}, but must be more than twice STELLWERK_HEARTBEAT_MS (${config.heartbeatMs}): else one late heartbeat counts as death. Raise the one or lower the other.`,
  )
  refuse(
    texts.has('DATABASE_DIRECT_URL') && config.database.url === null,
    'DATABASE_DIRECT_URL is set without DATABASE_URL. Set DATABASE_URL as well, or unset both for the embedded PostgreSQL.',
  )
  const strays = [...texts.keys()].filter((name) => name.startsWith('STELLWERK_S3_'))
  refuse(
    config.s3 === null && strays.length > 0,
    `${strays.join(', ')} is set without STELLWERK_S3_BUCKET. Set the bucket as well, or unset it.`,
  )
  refuse(
    (config.s3?.accessKeyId == null) !== (config.s3?.secretAccessKey == null),
    'STELLWERK_S3_ACCESS_KEY_ID and STELLWERK_S3_SECRET_ACCESS_KEY go together. Set both, or neither.',
  )
  for (const [name, key] of [
    ['STELLWERK_JWT_SECRET', config.auth.jwtSecret],
    ['STELLWERK_SECRET_KEY', config.secretKey],
  ] as const) {
    refuse(
      config.env === 'production' && key !== null && key.length < 32,
      `${name} has ${key?.length} characters, but in production must have at least 32. Set a longer one, e.g. from \`openssl rand -hex 32\`.`,
    )
  }

  // A job's row outlives its journal otherwise, and lists that walk the journal would lose it.
  const journalDays = config.auditMonths * 28
  refuse(
    config.retentionDays > journalDays,
    `STELLWERK_RETENTION_DAYS is ${config.retentionDays}, but must be at most ${journalDays}: the journal is kept for STELLWERK_AUDIT_MONTHS (${config.auditMonths}). Lower the one or raise the other.`,
  )
  for (const [kind, { retentionMs, backoff }] of Object.entries(config.kindOverrides)) {
    const name = `STELLWERK_KIND_${kind.toUpperCase()}`
    refuse(
      (retentionMs ?? 0) > journalDays * day,
      `${name} is wrong: retentionMs must be at most ${journalDays * day}, since the journal is kept for STELLWERK_AUDIT_MONTHS (${config.auditMonths}). Lower the one or raise the other.`,
    )
    refuse(
      (backoff?.baseMs ?? 0) > (backoff?.maxMs ?? Infinity),
      `${name} is wrong: backoff.baseMs (${backoff?.baseMs}) is above backoff.maxMs (${backoff?.maxMs}). Lower the one or raise the other.`,
    )
  }
  return problems
}
