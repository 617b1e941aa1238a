import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execute, parse, subscribe, validate, type ExecutionResult } from 'graphql'
import { z } from 'zod'
import { createListener } from '../../src/db/listen.ts'
import { createPools } from '../../src/db/pool.ts'
import { createQueueNumbers } from '../../src/events/queue-numbers.ts'
import { createRelay } from '../../src/events/relay.ts'
import { createWakeup } from '../../src/events/wakeup.ts'
import { createEvents } from '../../src/jobs/event.ts'
import { standardDefaults, type JobKind } from '../../src/jobs/kind.ts'
import { builtInKinds } from '../../src/jobs/kinds.ts'
import { scopes, type Caller, type Scope } from '../../src/jobs/permissions.ts'
import { createSecretBox } from '../../src/jobs/secret-box.ts'
import { openObjects } from '../../src/objects/open-objects.ts'
import { createFolderArchive } from '../../src/objects/worm-archive.ts'
import { createRequestContext, type ApiDeps } from '../../src/resolvers/context.ts'
import { createEnqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import { createTenantKeys } from '../../src/resolvers/tenant-keys.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { testDatabase } from '../support/database.ts'

const schema = buildSchema()

const plain = { redact: [], inputField: null, schedule: null, defaults: standardDefaults }
/** Takes any object. */
const echo: JobKind = {
  ...plain,
  name: 'echo',
  description: 'Takes anything.',
  payload: z.looseObject({}),
  example: {},
}
const resize: JobKind = {
  ...plain,
  name: 'resize_image',
  description: 'Makes the small pictures.',
  payload: z.strictObject({
    url: z.url(),
    width: z.int().min(1).max(4_000).optional(),
    name: z
      .string()
      .min(2)
      .regex(/^[a-z]+$/)
      .optional(),
    fit: z.enum(['cover', 'contain']).optional(),
    steps: z
      .array(z.strictObject({ angle: z.number().multipleOf(90) }))
      .max(2)
      .optional(),
  }),
  example: { url: 'https://example.org/a.png' },
  redact: ['/url', '/steps/0/angle'],
}
/** Registered by an instance that this one knows nothing of. */
const foreign: JobKind = { ...resize, name: 'foreign_kind', payload: z.strictObject({ n: z.int() }), example: { n: 1 } }

/** The API on a database of its own. */
export type TestApi = Awaited<ReturnType<typeof testApi>>

interface Answer {
  // What a test asks for it knows the shape of.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  readonly errors: NonNullable<ExecutionResult['errors']>
}

export async function testApi({
  environment = 'development' as ApiDeps['environment'],
  followUps = new Map() as ApiDeps['followUps'],
} = {}) {
  const database = await testDatabase()
  const objectsDir = await mkdtemp(join(tmpdir(), 'stellwerk-objects-'))
  const pools = createPools(database.url, { onError: () => {} })
  const listener = createListener({ url: database.url, onLost: () => {}, onRestored: () => {} })
  const wakeup = createWakeup({ instanceId: randomUUID(), db: pools.api, listener })
  const relay = createRelay({ db: pools.api, wakeup, pollMs: 1_000 })
  const kinds = new Map([...Object.values(builtInKinds), echo, resize].map((kind: JobKind) => [kind.name, kind]))
  await registerKinds(database.pool, new Map([...kinds, ['foreign_kind', foreign]]))
  await wakeup.start()
  await relay.start()
  const deps: ApiDeps = {
    pools,
    kinds,
    relay,
    queueNumbers: createQueueNumbers(pools.api),
    wakeup,
    enqueuer: createEnqueuer({ pool: pools.enqueue, wakeup }),
    tenantKeys: createTenantKeys(pools.api),
    events: createEvents(() => {}),
    environment,
    version: '0.0.0-test',
    retentionMs: 30 * 24 * 60 * 60 * 1_000,
    deadAfterMs: 30_000,
    followUps,
    secrets: createSecretBox('a key of the tests'),
    webhookReach: { allow: ['127.0.0.0/8'], strict: false },
    objects: await openObjects({
      config: { s3: null, objectsDir, secretKey: 'a secret of the tests', env: environment },
      dataDir: objectsDir,
      baseUrl: () => 'http://stellwerk.test',
    }),
    maxUploadBytes: 1024 * 1024,
    archive: createFolderArchive(join(objectsDir, 'archive')).intake,
  }
  const contextFor = (caller: Caller | null) =>
    createRequestContext(deps, {
      caller,
      requestId: `request-${randomUUID()}`,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    })

  const run = async (
    query: string,
    variables: Record<string, unknown> = {},
    caller: Caller | null = admin,
  ): Promise<Answer> => {
    const document = parse(query)
    const invalid = validate(schema, document)
    if (invalid.length > 0) return { data: null, errors: invalid }
    const result = (await execute({
      schema,
      document,
      variableValues: variables,
      contextValue: contextFor(caller),
    })) as ExecutionResult
    return { data: result.data, errors: result.errors ?? [] }
  }

  return {
    ...database,
    deps,
    contextFor,
    archiveDir: join(objectsDir, 'archive'),
    run,
    /** A subscription's stream, or its refusal. */
    subscribe: async (query: string, variables: Record<string, unknown> = {}, caller: Caller = admin) =>
      subscribe({ schema, document: parse(query), variableValues: variables, contextValue: contextFor(caller) }),
    async tenant(key: string): Promise<string> {
      const [row] = await database.sql<{ id: string }>(
        'insert into mdm.aa_tenant (tenant_key, name) values ($1, $1) returning id',
        [key],
      )
      return row!.id
    },
    async stop() {
      deps.queueNumbers.stop()
      await relay.stop()
      await wakeup.stop()
      await listener.stop()
      await rm(objectsDir, { recursive: true })
      await pools.end()
      await database.drop()
    },
  }
}

/** May do everything, for every tenant. */
export const admin = caller({ tenantIds: 'all' })

export function caller({
  tenantIds,
  may = scopes,
}: {
  readonly tenantIds: 'all' | readonly string[]
  readonly may?: readonly Scope[]
}): Caller {
  return {
    principal: { id: 'ada', name: 'Ada', kind: 'USER' },
    scopes: new Set(may),
    tenantIds: tenantIds === 'all' ? 'all' : new Set(tenantIds),
    expiresAt: null,
  }
}

/** The code of a top-level error as the edge tells it. */
export function codeOf({ errors }: Answer): string | undefined {
  const original = errors[0]?.originalError
  return original !== undefined && 'code' in original ? String(original.code) : undefined
}
