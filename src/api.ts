import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { createRequestContext, type ApiDeps } from './resolvers/context.ts'
import { findApiKey } from './resolvers/find-api-key.ts'
import { findTenantIds } from './resolvers/find-tenant-ids.ts'
import type { RightsWatch } from './resolvers/rights-watch.ts'
import { buildSchema } from './schema/index.ts'
import { createApi } from './server/api.ts'
import { createAuthenticate } from './server/auth.ts'
import type { Call } from './server/call.ts'
import { createDocumentRoute } from './server/document-route.ts'
import { createImportRoute } from './server/import-route.ts'
import { createObjectRoutes } from './server/object-routes.ts'
import { createOriginOf } from './server/origins.ts'
import { createVerifyJwt } from './server/verify-jwt.ts'
import type { Objects } from './objects/open-objects.ts'

interface ServiceApi {
  readonly config: Config
  readonly deps: ApiDeps
  readonly rights: RightsWatch
  readonly objects: Objects
  readonly log: Logger
}

/** The API half of the service, for its HTTP server. `app.ts` loads it only where it is served. */
export function createServiceApi({ config, deps, rights, objects, log }: ServiceApi): ReturnType<typeof createApi> {
  const db = deps.pools.api
  const contextFor = (call: Call) => createRequestContext(deps, { ...call, budget: () => call.budget })
  const authenticate = createAuthenticate({
    findApiKey: (key) => findApiKey(db, key),
    rights,
    verifyJwt: createVerifyJwt({ auth: config.auth, findTenantIds: (names) => findTenantIds(db, names) }),
  })
  return createApi({
    config,
    schema: buildSchema(),
    contextFor,
    authenticate,
    forms: {
      ...createImportRoute({ authenticate, contextFor }),
      ...createDocumentRoute({ authenticate, contextFor }),
    },
    ...(objects.signer !== null && {
      objects: createObjectRoutes({
        store: objects.store,
        signer: objects.signer,
        originOf: createOriginOf(config.allowedOrigins),
      }),
    }),
    log,
  })
}
