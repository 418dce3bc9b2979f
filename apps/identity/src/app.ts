import { type Express, Router } from 'express'
import { type Kysely, sql } from 'kysely'
import { createAuthenticator, createApp, tokenVerifier } from '@sluice/http-server'
import { ssrfSafeFetch } from '@sluice/http-client'
import type { Logger, Registry } from '@sluice/process'
import { auditedWrites } from '@sluice/records'
import { servedOperations } from './api/operations.ts'
import type { Config } from './config.ts'
import type { DB } from './database.ts'
import { identityServiceInfo } from './openapi-info.ts'
import type { AuditTally } from './openid-provider/audit-event-counter.ts'
import { createOpenIdProvider } from './openid-provider/openid-provider.ts'
import { createPageRoutes } from './pages/account/routes.ts'
import { showSsoProblems } from './api/auth/sso-problem-pages.ts'
import { translateDatabaseError } from './map-database-errors.ts'
import { parsePublicAddress } from './public-address.ts'
import { createFederation, outgoingLimits } from './sign-in/federated/provider-metadata.ts'
import { type SigningKeys, createSigningKeys, listStoredKeys } from './sign-in/tokens/signing-keys.ts'
import { assertPrincipalUnchanged, findPrincipal } from './sign-in/sessions/principal.ts'

interface IdentityAppOptions {
  db: Kysely<DB>
  /** The connection pool for lists and reports. Default: `db`. */
  searches?: Kysely<DB>
  config: Config
  logger: Logger
  metrics: Registry
  /** Counts events that are too frequent for one audit row each. Call its `flush` when the process stops. */
  tally?: AuditTally
  isStopping?(): boolean
}

/**
 * Creates the app of the identity service: the API, the OpenID Provider, the pages and the published keys. `searches`
 * is a separate connection pool for list queries, so that slow ones do not delay other requests.
 */
export function buildApp({
  db,
  searches = db,
  isStopping = () => false,
  ...dependencies
}: IdentityAppOptions): Express {
  const { config, logger, metrics, tally } = dependencies
  const keys = createSigningKeys(db, config.SECRET_KEYS)
  const oidc = createOpenIdProvider({ db, config, keys, logger, tally })
  const federation = createFederation(ssrfSafeFetch({ allowed: config.OUTGOING_ALLOWED, ...outgoingLimits }))
  const runAudited = auditedWrites(db, { assertCallerUnchanged: assertPrincipalUnchanged, searches })
  const handlerDependencies = { config, keys, oidc, federation }
  return createApp({
    operations: servedOperations,
    info: identityServiceInfo,
    logger,
    metrics,
    isStopping,
    translate: translateDatabaseError,
    publicUrl: config.IDENTITY_PUBLIC_URL,
    // Internal callers may also use the listen address.
    allowedHosts: [...config.ALLOWED_HOSTS, config.LISTEN_HOST],
    corsOrigins: config.CORS_ORIGINS,
    trustedProxies: config.TRUSTED_PROXIES,
    checks: [
      { name: 'database', check: () => sql`select 1`.execute(db) },
      { name: 'signing-keys', check: () => keys.current() },
    ],
    extraRoutes: Router().use(servePublishedKeys(db, keys), oidc.routes, createPageRoutes({ db, config, logger })),
    problemPages: showSsoProblems(parsePublicAddress(config.IDENTITY_PUBLIC_URL).prefix, logger),
    authenticate: createAuthenticator({
      verify: tokenVerifier(config.IDENTITY_PUBLIC_URL, { find: keys.verification, ring: keys.privateKeys }),
      // The principal is not cached, so that changes of users apply at once. The lookup is one indexed query.
      findPrincipal: (credential) => findPrincipal(db, credential),
      serviceSecret: config.SERVICE_SECRET,
    }),
    run: (operation, caller, requestFacts, callback) =>
      runAudited(operation, caller, requestFacts, handlerDependencies, callback),
  })
}

/**
 * Serves `/.well-known/jwks.json`, the public keys that verify tokens. Reads the keys from the database on each
 * request, so that a withdrawn key is not published again. Serves cached keys if the database is unavailable or has no
 * keys.
 */
function servePublishedKeys(db: Kysely<DB>, keys: SigningKeys): Router {
  const routes = Router()
  routes.get('/.well-known/jwks.json', async (_request, response) => {
    // This call also creates the first key, so it precedes the query.
    const cachedKeySet = await keys.published()
    const storedKeys = await listStoredKeys(db).catch(() => [])
    const keySet = storedKeys.length > 0 ? { keys: storedKeys.map(({ public_jwk }) => public_jwk) } : cachedKeySet
    response.set('Cache-Control', 'public, max-age=300').json(keySet)
  })
  return routes
}
