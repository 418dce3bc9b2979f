import type { Express } from 'express'
import { sql, type Kysely } from 'kysely'
import { authenticator, door, problems, publishedKeys, tokenVerifier, type Operation } from '@sluice/http'
import type { Logger, Registry } from '@sluice/process'
import { auditedWrites } from '@sluice/records'
import type { Config } from './config.ts'
import type { DB } from './database.ts'
import { info } from './info.ts'
import { operations } from './api/operations.ts'
import type { PipelineContext } from './api/operation.ts'
import { translate } from './problems.ts'

interface Parts extends Omit<PipelineContext, 'db' | 'write'> {
  db: Kysely<DB>
  config: Pick<Config, 'IDENTITY_URL' | 'IDENTITY_PUBLIC_URL' | 'SERVICE_SECRET' | 'CORS_ORIGINS' | 'TRUSTED_PROXIES'>
  logger: Logger
  metrics: Registry
  isStopping(): boolean
}

/** The pipeline service's HTTP side, whole. */
export function pipelineApp({ db, config, logger, metrics, isStopping, ...context }: Parts): Express {
  const { identity } = context
  return door<PipelineContext>({
    operations,
    info,
    logger,
    metrics,
    isStopping,
    corsOrigins: config.CORS_ORIGINS,
    trustedProxies: config.TRUSTED_PROXIES,
    translate,
    parts: [{ name: 'database', check: () => sql`select 1`.execute(db) }],
    authenticate: authenticator({
      verify: tokenVerifier(config.IDENTITY_PUBLIC_URL, publishedKeys(config.IDENTITY_URL)),
      serviceSecret: config.SERVICE_SECRET,
      async standing({ sub, sid }) {
        const standing = await identity.standing(sub, sid)
        if (standing && !standing.client.pipelinesEnabled)
          throw problems.forbidden('Data pipelines are switched off for your organisation.')
        return standing
      },
    }),
    run: (operation: Operation, caller, facts, work) => run(operation, caller, facts, { ...context, logger }, work),
  })

  function run<T>(
    ...[operation, caller, facts, more, work]: Parameters<ReturnType<typeof auditedWrites<DB>>>
  ): Promise<T> {
    return auditedWrites(db)(operation, caller, facts, more, work as never) as Promise<T>
  }
}
