import { type Express, Router } from 'express'
import { sql, type Kysely } from 'kysely'
import { createMissingKeysCheck } from '@sluice/database'
import { createAuthenticator, createApp, problems, publishedKeys, tokenVerifier } from '@sluice/http-server'
import type { Logger, Registry } from '@sluice/process'
import { auditedWrites } from '@sluice/records'
import type { Config } from './config.ts'
import type { DB } from './database.ts'
import { filesHealthCheck } from './files/files-health-check.ts'
import { pipelineServiceInfo } from './openapi-info.ts'
import { operations } from './api/operations.ts'
import type { PipelineContext } from './api/operation-context.ts'
import { tusCapabilities } from './api/resumable-uploads/upload-headers.ts'
import { watchRuns } from './api/runs/watch-run-changes.ts'
import { translateDatabaseError } from './problems/map-database-errors.ts'
import { durableSealedColumns } from './secrets/encrypted-secrets.ts'

interface PipelineAppOptions extends Omit<PipelineContext, 'db' | 'write' | 'keyRing' | 'mails' | 'runWatcher'> {
  db: Kysely<DB>
  config: Pick<
    Config,
    | 'IDENTITY_URL'
    | 'IDENTITY_PUBLIC_URL'
    | 'PIPELINE_PUBLIC_URL'
    | 'LISTEN_HOST'
    | 'ALLOWED_HOSTS'
    | 'SERVICE_SECRET'
    | 'CORS_ORIGINS'
    | 'TRUSTED_PROXIES'
    | 'SECRET_KEYS'
    | 'SMTP_URL'
  >
  logger: Logger
  metrics: Registry
  isStopping(): boolean
}

/** Creates the HTTP application of the pipeline service. */
export function pipelineApp({ db, config, logger, metrics, isStopping, ...context }: PipelineAppOptions): Express {
  const { identity } = context
  const audited = auditedWrites(db)
  const ownContext = {
    ...context,
    keyRing: config.SECRET_KEYS,
    mails: config.SMTP_URL !== undefined,
    runWatcher: watchRuns(db, logger),
    logger,
  }
  return createApp<PipelineContext>({
    operations,
    info: pipelineServiceInfo,
    logger,
    metrics,
    isStopping,
    publicUrl: config.PIPELINE_PUBLIC_URL,
    // Internal callers may use the listen address in the Host header.
    allowedHosts: [...config.ALLOWED_HOSTS, config.LISTEN_HOST],
    optionsRoutes: optionsRoutes(context.files.uploadLimit),
    corsOrigins: config.CORS_ORIGINS,
    trustedProxies: config.TRUSTED_PROXIES,
    translate: translateDatabaseError,
    checks: [
      { name: 'database', check: () => sql`select 1`.execute(db) },
      { name: 'queue', check: () => context.queue.check() },
      // The service works without the upload directory, except for uploads.
      { ...filesHealthCheck(context.files.directory), optional: true },
      // The service works if an encryption key is missing, except for secrets that were encrypted with it.
      { name: 'secrets', optional: true, check: createMissingKeysCheck(db, config.SECRET_KEYS, durableSealedColumns) },
      { name: 'warehouse', optional: true, check: () => context.warehouses.check() },
      ...context.warehouses.checks.map((part) => ({ ...part, optional: true })),
      { name: 'identity', optional: true, check: () => assertResponds(`${config.IDENTITY_URL}/health/live`) },
    ],
    authenticate: createAuthenticator({
      verify: tokenVerifier(config.IDENTITY_PUBLIC_URL, publishedKeys(config.IDENTITY_URL)),
      serviceSecret: config.SERVICE_SECRET,
      async findPrincipal(credential) {
        const principal = await identity.findPrincipal(credential)
        if (principal && !principal.client.pipelinesEnabled)
          throw problems.forbidden(
            'Data pipelines are switched off for your organisation. Ask a super admin to enable them.',
          )
        return principal
      },
    }),
    run: (operation, caller, requestFacts, callback) => audited(operation, caller, requestFacts, ownContext, callback),
  })
}

/**
 * Answers OPTIONS with the upload features that the tus protocol defines. Passes on CORS preflight requests of
 * browsers, which have the header Access-Control-Request-Method.
 */
function optionsRoutes(uploadLimit: number): Router {
  const routes = Router()
  routes.options('/api/v1/data-pipelines/:uid/uploads{/:upload}', (request, response, next) => {
    if (request.headers['access-control-request-method'] !== undefined) return next()
    response.status(204).set(tusCapabilities(uploadLimit)).end()
  })
  return routes
}

async function assertResponds(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(1_500) })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`${url} answers ${response.status}`)
}
