import { describe, expect, test } from 'vitest'
import { checkKindOverrides, checkPoolKinds, ConfigError, loadConfig } from '../src/config.ts'
import type { Config } from '../src/config.ts'
import { settings } from '../src/settings.ts'
import type { SettingName } from '../src/settings.ts'

type Env = Record<string, string>

interface Case {
  readonly value: (config: Config) => unknown
  readonly standard: unknown
  readonly good: readonly [text: string, value: unknown]
  /** What stands between the name and the remedy. */
  readonly bad: readonly [text: string, complaint: string]
  /** What the good value needs beside it. */
  readonly with?: Env
}

const day = 24 * 60 * 60 * 1000
const longest = '2147483647 (milliseconds)'
const milliseconds = (value: Case['value'], standard: number): Case => ({
  value,
  standard,
  good: ['12000', 12_000],
  bad: ['0', `is "0", which is not a whole number from 1 to ${longest}`],
})
const onOff = (value: Case['value'], standard: boolean, withEnv: Env = {}): Case => ({
  value,
  standard,
  good: standard ? ['off', false] : ['on', true],
  bad: ['yes', 'is "yes", which is not on or off'],
  with: withEnv,
})
const path = (value: Case['value'], standard: string | null): Case => ({
  value,
  standard,
  good: ['/var/lib/there', '/var/lib/there'],
  bad: [' /var', 'is " /var", which is not a path'],
})
const notPostgres = 'has a value that is not a postgres:// or postgresql:// URL'
const bucket = { STELLWERK_S3_BUCKET: 'objects' }
const keyId = { ...bucket, STELLWERK_S3_ACCESS_KEY_ID: 'AK' }

/** A secret takes any text; what can be wrong with it is tested below. */
const secrets = [
  'STELLWERK_JWT_SECRET',
  'STELLWERK_SECRET_KEY',
  'STELLWERK_MAIL_WEBHOOK_SECRET',
  'STELLWERK_METRICS_TOKEN',
  'STELLWERK_S3_ACCESS_KEY_ID',
  'STELLWERK_S3_SECRET_ACCESS_KEY',
] as const

const cases: Record<Exclude<SettingName, (typeof secrets)[number]>, Case> = {
  PORT: {
    value: (c) => c.http.port,
    standard: 4000,
    good: ['0', 0],
    bad: ['65536', 'is "65536", which is not a whole number from 0 to 65535'],
  },
  HOST: {
    value: (c) => c.http.host,
    standard: '127.0.0.1',
    good: ['::1', '::1'],
    bad: ['a b', 'is "a b", which is not an address or a host name'],
  },
  DATABASE_URL: {
    value: (c) => c.database.url,
    standard: null,
    good: ['postgresql:///db?host=/tmp', 'postgresql:///db?host=/tmp'],
    bad: ['mysql://u:hunter2@h/db', notPostgres],
  },
  DATABASE_DIRECT_URL: {
    value: (c) => c.database.directUrl,
    standard: null,
    good: ['postgres://h/direct', 'postgres://h/direct'],
    bad: ['postgres', notPostgres],
    with: { DATABASE_URL: 'postgres://h/db' },
  },
  REDIS_URL: {
    value: (c) => c.redisUrl,
    standard: null,
    good: ['rediss://h:6380', 'rediss://h:6380'],
    bad: ['h:6379', 'has a value that is not a redis:// or rediss:// URL'],
  },
  SMTP_URL: {
    value: (c) => c.smtpUrl,
    standard: null,
    good: ['smtps://u:p@h', 'smtps://u:p@h'],
    bad: ['http://h', 'has a value that is not an smtp:// or smtps:// URL'],
  },
  CLAMD_URL: {
    value: (c) => c.clamdUrl,
    standard: null,
    good: ['unix:///run/clamd.sock', 'unix:///run/clamd.sock'],
    bad: ['tcp://clamd', 'has a value that is not tcp://host:port or unix:///path'],
  },
  LOG_LEVEL: {
    value: (c) => c.logLevel,
    standard: 'info',
    good: ['debug', 'debug'],
    bad: ['loud', 'is "loud", which is not one of fatal, error, warn, info, debug, trace, silent'],
  },
  STELLWERK_DATA_DIR: path((c) => c.dataDir, '.stellwerk'),
  STELLWERK_KINDS: {
    value: (c) => c.kindsModule,
    standard: null,
    good: ['./kinds.ts', './kinds.ts'],
    bad: ['./kinds.ts ', 'is "./kinds.ts ", which is not a path of a .ts or .js module'],
  },
  STELLWERK_WORKERS: {
    value: (c) => c.pools[0]?.slots,
    standard: 4,
    good: ['16', 16],
    bad: ['many', 'is "many", which is not a whole number from 0 to 10000'],
  },
  STELLWERK_POOLS: {
    value: (c) => c.pools,
    standard: [{ name: 'default', slots: 4, kinds: null, tenants: null, dispatch: 'fair' }],
    good: [
      '[{"name":"mail","slots":2,"kinds":["email_send"],"dispatch":"priority"}]',
      [{ name: 'mail', slots: 2, kinds: ['email_send'], tenants: null, dispatch: 'priority' }],
    ],
    bad: ['[{"name":"a","slots":10001}]', 'is wrong: [0].slots (10001) must be a whole number from 1 to 10000'],
  },
  STELLWERK_API: onOff((c) => c.api, true),
  STELLWERK_ENV: {
    value: (c) => c.env,
    standard: 'development',
    good: ['production', 'production'],
    bad: ['test', 'is "test", which is not one of development, production'],
  },
  STELLWERK_JWKS_URL: {
    value: (c) => c.auth.jwksUrl,
    standard: null,
    good: ['https://id.example.org/keys', 'https://id.example.org/keys'],
    bad: ['id.example.org', 'has a value that is not an http:// or https:// URL'],
  },
  STELLWERK_JWT_AUDIENCE: {
    value: (c) => c.auth.audience,
    standard: 'stellwerk',
    good: ['jobs', 'jobs'],
    bad: [' ', 'is " ", which is not an audience'],
  },
  STELLWERK_JWT_ISSUER: {
    value: (c) => c.auth.issuer,
    standard: null,
    good: ['https://id.example.org', 'https://id.example.org'],
    bad: [' ', 'is " ", which is not an issuer'],
  },
  STELLWERK_ALLOWED_ORIGINS: {
    value: (c) => c.allowedOrigins,
    standard: [],
    good: ['https://a.example, http://localhost:5173', ['https://a.example', 'http://localhost:5173']],
    bad: ['*', 'is "*", which is not a comma-separated list of origins such as https://app.example.org'],
  },
  STELLWERK_TRUST_PROXY: {
    value: (c) => c.trustProxy,
    standard: [],
    good: ['10.0.0.0/8,::1', ['10.0.0.0/8', '::1']],
    bad: ['10.0.0.0/33', 'is "10.0.0.0/33", which is not a comma-separated list of addresses or CIDR ranges'],
  },
  STELLWERK_WEBHOOK_ALLOW: {
    value: (c) => c.webhookAllow,
    standard: [],
    good: ['127.0.0.0/8', ['127.0.0.0/8']],
    bad: ['localhost', 'is "localhost", which is not a comma-separated list of addresses or CIDR ranges'],
  },
  STELLWERK_SERVICE_BUDGET: {
    value: (c) => c.serviceBudget,
    standard: null,
    good: ['{"limit":100,"perSecond":0.5}', { limit: 100, perSecond: 0.5 }],
    bad: ['{"limit":100}', 'is wrong: perSecond must be a number above 0, at most 1000000000'],
  },
  STELLWERK_MAIL_FROM: {
    value: (c) => c.mail,
    standard: { from: 'stellwerk@localhost', domain: 'localhost', senders: {} },
    good: ['Jobs <jobs@example.org>', { from: 'Jobs <jobs@example.org>', domain: 'example.org', senders: {} }],
    bad: ['jobs', 'is "jobs", which is not an address, or a name and an address in angle brackets'],
  },
  STELLWERK_MAIL_DOMAIN: {
    value: (c) => c.mail.domain,
    standard: 'localhost',
    good: ['example.org', 'example.org'],
    bad: ['a@b', 'is "a@b", which is not a domain'],
  },
  STELLWERK_MAIL_SENDERS: {
    value: (c) => c.mail.senders,
    standard: {},
    good: ['{"billing":"b@example.org"}', { billing: 'b@example.org' }],
    bad: ['{"billing":"b"}', 'is wrong: billing ("b") must be an address, or a name and an address in angle brackets'],
  },
  STELLWERK_MAIL_SNS_TOPICS: {
    value: (c) => c.mailReports.snsTopics,
    standard: [],
    good: ['arn:aws:sns:eu-west-1:123456789012:bounces', ['arn:aws:sns:eu-west-1:123456789012:bounces']],
    bad: ['bounces', 'is "bounces", which is not a comma-separated list of ARNs of SNS topics'],
  },
  STELLWERK_ARCHIVE_DIR: path((c) => c.archiveDir, null),
  TESSERACT_BIN: {
    value: (c) => c.ocr.tesseract,
    standard: null,
    good: ['off', 'off'],
    bad: [' /usr', 'is " /usr", which is not a path, or off'],
  },
  STELLWERK_OCR_LANGUAGES: {
    value: (c) => c.ocr.languages,
    standard: null,
    good: ['chi_sim, eng', ['chi_sim', 'eng']],
    bad: ['de', 'is "de", which is not a comma-separated list of language codes such as deu, eng or chi_sim'],
  },
  PDFTOPPM_BIN: {
    value: (c) => c.ocr.pdftoppm,
    standard: null,
    good: ['/opt/poppler/pdftoppm', '/opt/poppler/pdftoppm'],
    bad: [' /usr', 'is " /usr", which is not a path, or off'],
  },
  STELLWERK_OBJECTS_DIR: path((c) => c.objectsDir, null),
  STELLWERK_PUBLIC_URL: {
    value: (c) => c.publicUrl,
    standard: null,
    good: ['https://jobs.example.org/stellwerk', 'https://jobs.example.org/stellwerk'],
    bad: ['https://jobs.example.org/?a=1', 'has a value that is not an http:// or https:// URL without a query'],
  },
  STELLWERK_S3_BUCKET: {
    value: (c) => c.s3,
    standard: null,
    good: [
      'objects',
      {
        bucket: 'objects',
        endpoint: null,
        region: 'us-east-1',
        accessKeyId: null,
        secretAccessKey: null,
        pathStyle: false,
        prefix: null,
      },
    ],
    bad: [' ', 'is " ", which is not a bucket name'],
  },
  STELLWERK_S3_ENDPOINT: {
    value: (c) => c.s3?.endpoint,
    standard: undefined,
    good: ['http://store:9000', 'http://store:9000'],
    bad: ['store', 'has a value that is not an http:// or https:// URL'],
    with: bucket,
  },
  STELLWERK_S3_REGION: {
    value: (c) => c.s3?.region,
    standard: undefined,
    good: ['eu-central-1', 'eu-central-1'],
    bad: [' ', 'is " ", which is not a region'],
    with: bucket,
  },
  STELLWERK_S3_PATH_STYLE: { ...onOff((c) => c.s3?.pathStyle, false, bucket), standard: undefined },
  STELLWERK_S3_PREFIX: {
    value: (c) => c.s3?.prefix,
    standard: undefined,
    good: ['stellwerk/live', 'stellwerk/live'],
    bad: ['/a', 'is "/a", which is not a path of letters, digits, ., _ and -'],
    with: bucket,
  },
  STELLWERK_MIGRATE: onOff((c) => c.migrate, true),
  STELLWERK_MAX_UPLOAD_MB: {
    value: (c) => c.maxUploadBytes,
    standard: 104_857_600,
    good: ['1', 1_048_576],
    bad: ['1.5', 'is "1.5", which is not a whole number from 1 to 10240'],
  },
  STELLWERK_POLL_MS: milliseconds((c) => c.pollMs, 1000),
  STELLWERK_HEARTBEAT_MS: milliseconds((c) => c.heartbeatMs, 5000),
  STELLWERK_DEAD_AFTER_MS: milliseconds((c) => c.deadAfterMs, 30_000),
  STELLWERK_MAINTENANCE_MS: milliseconds((c) => c.maintenanceMs, 10_000),
  STELLWERK_CLEANUP_TICK_MS: milliseconds((c) => c.cleanupTickMs, 300_000),
  STELLWERK_SHUTDOWN_MS: milliseconds((c) => c.shutdownMs, 25_000),
  STELLWERK_ABORT_GRACE_MS: milliseconds((c) => c.abortGraceMs, 10_000),
  STELLWERK_ABANDON_MS: milliseconds((c) => c.abandonMs, 60_000),
  STELLWERK_RETENTION_DAYS: {
    value: (c) => c.retentionDays,
    standard: 30,
    good: ['7', 7],
    bad: ['-1', 'is "-1", which is not a whole number from 1 to 3660'],
  },
  STELLWERK_AUDIT_MONTHS: {
    value: (c) => c.auditMonths,
    standard: 13,
    good: ['24', 24],
    bad: ['241', 'is "241", which is not a whole number from 1 to 240'],
  },
}

describe.each(Object.entries(cases))('%s', (name, { value, standard, good, bad, with: beside = {} }) => {
  test('has its default, also when empty', () => {
    expect(value(loadConfig({}))).toEqual(standard)
    expect(value(loadConfig({ [name]: '' }))).toEqual(standard)
  })

  test('takes a good value', () => {
    expect(value(loadConfig({ ...beside, [name]: good[0] }))).toEqual(good[1])
  })

  test('refuses a bad value in a sentence with the remedy', () => {
    const { otherwise } = settings[name as SettingName]
    expect(problemsOf({ ...beside, [name]: bad[0] })).toEqual([
      `${name} ${bad[1]}. Correct it, or unset it (then: ${otherwise}).`,
    ])
  })
})

test('secrets are null by default and taken as they are', () => {
  const none = loadConfig({})
  expect([none.auth.jwtSecret, none.secretKey, none.metricsToken, none.mailReports.secret]).toEqual([
    null,
    null,
    null,
    null,
  ])
  const { auth, secretKey, metricsToken, mailReports, s3 } = loadConfig({
    ...keyId,
    STELLWERK_S3_SECRET_ACCESS_KEY: ' d',
    STELLWERK_JWT_SECRET: ' a',
    STELLWERK_SECRET_KEY: 'b',
    STELLWERK_METRICS_TOKEN: 'c',
    STELLWERK_MAIL_WEBHOOK_SECRET: 'e',
  })
  expect([auth.jwtSecret, secretKey, metricsToken, mailReports.secret, s3?.accessKeyId, s3?.secretAccessKey]).toEqual([
    ' a',
    'b',
    'c',
    'e',
    'AK',
    ' d',
  ])
})

test('DATABASE_URL alone is the direct connection too, and means production', () => {
  const config = loadConfig({ DATABASE_URL: 'postgres://h/db' })
  expect(config.database).toEqual({ url: 'postgres://h/db', directUrl: 'postgres://h/db' })
  expect(config.env).toBe('production')
  expect(loadConfig({ DATABASE_URL: 'postgres://h/db', STELLWERK_ENV: 'development' }).env).toBe('development')
})

test('no workers means none, whatever the pools say', () => {
  expect(loadConfig({ STELLWERK_WORKERS: '0', STELLWERK_POOLS: '[{"name":"a","slots":1}]' }).pools).toEqual([])
})

describe('what is wrong inside JSON is named by its place', () => {
  const names = { pools: 'STELLWERK_POOLS', kind: 'STELLWERK_KIND_EMAIL_SEND', provider: 'STELLWERK_PROVIDER_SES' }
  test.each<[keyof typeof names, string, string]>([
    [
      'pools',
      '[{"name":"a","slots":1},\n {"name":"b","slots":2,]',
      'is not valid JSON at line 2, column 24; it must be a list of {name, slots, kinds?, tenants?, dispatch?}',
    ],
    [
      'pools',
      '[{"name":"a","slots":1}',
      'is not valid JSON at line 1, column 24; it must be a list of {name, slots, kinds?, tenants?, dispatch?}',
    ],
    [
      'pools',
      'default',
      'is not valid JSON at line 1, column 1; it must be a list of {name, slots, kinds?, tenants?, dispatch?}',
    ],
    [
      'pools',
      '[{name:"a"}]',
      'is not valid JSON at line 1, column 3; it must be a list of {name, slots, kinds?, tenants?, dispatch?}',
    ],
    ['pools', '[]', 'is wrong: it must hold at least one pool; STELLWERK_WORKERS=0 means no workers'],
    ['pools', '{"name":"a","slots":1}', 'is wrong: it must be an array'],
    ['pools', '[{"name":"a","slots":1},{"name":"a","slots":2}]', 'is wrong: [1].name ("a") is the name of [0] already'],
    ['pools', '[{"name":"","slots":1}]', 'is wrong: [0].name ("") must not be empty'],
    ['pools', '[{"name":"a"}]', 'is wrong: [0].slots must be a whole number from 1 to 10000'],
    [
      'pools',
      '[{"name":"a","slots":1,"kinds":[]}]',
      'is wrong: [0].kinds must name at least one; leave the field out for all',
    ],
    ['pools', '[{"name":"a","slots":1,"tenants":["x",""]}]', 'is wrong: [0].tenants[1] ("") must not be empty'],
    [
      'pools',
      '[{"name":"a","slots":1,"dispatch":"fast"}]',
      'is wrong: [0].dispatch ("fast") must be "fair" or "priority"',
    ],
    [
      'pools',
      '[{"name":"a","slots":1,"tenant":["x"]}]',
      'is wrong: [0] has the unknown field tenant, the nearest known one is tenants',
    ],
    ['kind', '{"maxAttempt":3}', 'is wrong: it has the unknown field maxAttempt, the nearest known one is maxAttempts'],
    ['kind', '{"priority":1001}', 'is wrong: priority (1001) must be a whole number from 0 to 1000'],
    ['kind', '{"maxAttempts":0}', 'is wrong: maxAttempts (0) must be a whole number from 1 to 100'],
    ['kind', '{"backoff":{"jitter":1.5}}', 'is wrong: backoff.jitter (1.5) must be a number from 0 to 1'],
    ['kind', '{"backoff":{"base":1}}', 'is wrong: backoff has the unknown field base, the nearest known one is baseMs'],
    ['kind', '{"timeoutMs":"5"}', 'is wrong: timeoutMs ("5") must be a whole number from 1 to 2147483647'],
    [
      'kind',
      '{"rateLimit":{"rps":0,"burst":1}}',
      'is wrong: rateLimit.rps (0) must be a number above 0, at most 10000',
    ],
    ['kind', '7', 'is wrong: it must be an object'],
    ['provider', '{"rps":14}', 'is wrong: burst must be a whole number from 1 to 1000000'],
  ])('%s %s', (of, text, complaint) => {
    expect(problemsOf({ [names[of]]: text })).toEqual([
      expect.stringMatching(
        new RegExp(`^${RegExp.escape(`${names[of]} ${complaint}. Correct it, or unset it (then: `)}`),
      ),
    ])
  })
})

test('overrides of kinds and providers are named in lower case', () => {
  const override = {
    staleAfterMs: 5000,
    maxAttempts: 3,
    backoff: { baseMs: 100 },
    retentionMs: 40 * day,
    maxConcurrency: null,
    rateLimit: { rps: 0.5, burst: 2 },
  }
  const config = loadConfig({
    STELLWERK_KIND_EMAIL_SEND: JSON.stringify(override),
    STELLWERK_PROVIDER_SES: '{"rps":14,"burst":20}',
  })
  expect(config.kindOverrides).toEqual({ email_send: override })
  expect(config.providers).toEqual({ ses: { rps: 14, burst: 20 } })
})

test('an override of a kind that does not exist names the nearest', () => {
  const config = loadConfig({ STELLWERK_KIND_EMAIL_SENT: '{"priority":1}', STELLWERK_KIND_REINDEX: '{"priority":1}' })
  expect(checkKindOverrides(config, ['email_send', 'reindex'])).toEqual([
    'STELLWERK_KIND_EMAIL_SENT overrides the kind email_sent, which does not exist; the nearest known one is STELLWERK_KIND_EMAIL_SEND. Correct the name, or remove the setting.',
  ])
})

test('a pool for a kind that does not exist names the nearest', () => {
  const pools = [
    { name: 'mail', slots: 1, kinds: ['email_sned', 'reindex'] },
    { name: 'rest', slots: 1 },
  ]
  expect(checkPoolKinds(loadConfig({ STELLWERK_POOLS: JSON.stringify(pools) }), ['email_send', 'reindex'])).toEqual([
    'STELLWERK_POOLS: the pool mail names the kind email_sned, which does not exist; the nearest known one is email_send. Correct the name, or load the kind by STELLWERK_KINDS.',
  ])
})

test.each([
  ['STELLWERK_WORKER', 'STELLWERK_WORKERS'],
  ['STELLWERK_JWT_SECERT', 'STELLWERK_JWT_SECRET'],
  ['STELLWERK_PORT', 'PORT'],
  ['STELLWERK_KIND', 'STELLWERK_KINDS'],
  ['STELLWERK_KIND_', 'STELLWERK_KINDS'],
  ['STELLWERK_PROVIDRE_SES', 'STELLWERK_PROVIDER_<NAME>'],
])('the unknown %s names the nearest, %s', (unknown, nearest) => {
  expect(problemsOf({ [unknown]: 'x' })).toEqual([
    `${unknown} is not a setting; the nearest known one is ${nearest}. Correct the name, or remove it.`,
  ])
})

test('other variables of the environment are left alone', () => {
  expect(loadConfig({ EDITOR: 'vi', PATH: '/bin', STELLWERK_UNHEARD: '' })).toEqual(loadConfig({}))
})

describe('settings that clash', () => {
  const long = 'x'.repeat(32)
  test.each<[Env, string]>([
    [
      { STELLWERK_HEARTBEAT_MS: '15000' },
      'STELLWERK_DEAD_AFTER_MS is 30000, but must be more than twice STELLWERK_HEARTBEAT_MS (15000): else one late heartbeat counts as death. Raise the one or lower the other.',
    ],
    [
      { DATABASE_DIRECT_URL: 'postgres://h/db' },
      'DATABASE_DIRECT_URL is set without DATABASE_URL. Set DATABASE_URL as well, or unset both for the embedded PostgreSQL.',
    ],
    [
      { STELLWERK_S3_REGION: 'x', STELLWERK_S3_ENDPOINT: 'http://h' },
      'STELLWERK_S3_REGION, STELLWERK_S3_ENDPOINT is set without STELLWERK_S3_BUCKET. Set the bucket as well, or unset it.',
    ],
    [keyId, 'STELLWERK_S3_ACCESS_KEY_ID and STELLWERK_S3_SECRET_ACCESS_KEY go together. Set both, or neither.'],
    [
      { STELLWERK_ENV: 'production', STELLWERK_JWT_SECRET: 'short', STELLWERK_SECRET_KEY: long },
      'STELLWERK_JWT_SECRET has 5 characters, but in production must have at least 32. Set a longer one, e.g. from `openssl rand -hex 32`.',
    ],
    [
      { STELLWERK_ENV: 'production', STELLWERK_SECRET_KEY: 'key', STELLWERK_JWT_SECRET: long },
      'STELLWERK_SECRET_KEY has 3 characters, but in production must have at least 32. Set a longer one, e.g. from `openssl rand -hex 32`.',
    ],
    [
      { STELLWERK_AUDIT_MONTHS: '1' },
      'STELLWERK_RETENTION_DAYS is 30, but must be at most 28: the journal is kept for STELLWERK_AUDIT_MONTHS (1). Lower the one or raise the other.',
    ],
    [
      { STELLWERK_KIND_REINDEX: `{"retentionMs":${365 * day}}` },
      `STELLWERK_KIND_REINDEX is wrong: retentionMs must be at most ${364 * day}, since the journal is kept for STELLWERK_AUDIT_MONTHS (13). Lower the one or raise the other.`,
    ],
    [
      { STELLWERK_KIND_REINDEX: '{"backoff":{"baseMs":2,"maxMs":1}}' },
      'STELLWERK_KIND_REINDEX is wrong: backoff.baseMs (2) is above backoff.maxMs (1). Lower the one or raise the other.',
    ],
  ])('%j', (env, problem) => {
    expect(problemsOf(env)).toEqual([problem])
  })
})

test('all problems are told at once, and no secret with them', () => {
  const env = {
    PORT: 'x',
    STELLWERK_WORKERS: '-1',
    DATABASE_URL: 'mysql://u:hunter2@h',
    STELLWERK_JWT_SECRET: 'hunter2',
    STELLWERK_WORKRES: '1',
  }
  const problems = problemsOf(env)
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
    'PORT',
    'DATABASE_URL',
    'STELLWERK_WORKERS',
    'STELLWERK_WORKRES',
  ])
  expect(new ConfigError(problems).message).toBe(
    ['The settings cannot be used:', ...problems.map((problem) => `  - ${problem}`)].join('\n'),
  )
  expect(problems.join()).not.toContain('hunter2')
})

function problemsOf(env: Env): readonly string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('what has no effect yet is known by name', () => {
  expect(loadConfig({ REDIS_URL: 'redis://h', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_X: '' }).unheeded).toEqual([
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'REDIS_URL',
  ])
  expect(loadConfig({}).unheeded).toEqual([])
})
