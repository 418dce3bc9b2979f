import type { Request } from 'express'
import type { Provider } from 'oidc-provider'
import { recordAudit } from '@sluice/database'
import type { Logger } from '@sluice/process'
import type { ProviderParts } from './configuration.ts'
import type { ExtraMetadata } from './clients.ts'

/** Logs what fails on our side, and leaves in the audit that a code or token was used twice. */
export function recordEvents(provider: Provider, { db, logger }: Pick<ProviderParts, 'db'> & { logger: Logger }): void {
  provider.on('server_error', (ctx, error) => {
    logger.error(
      { err: error, requestId: ctx.response.get('x-request-id'), path: ctx.path },
      'the OpenID provider failed',
    )
  })
  provider.on('grant.revoked', (ctx) => {
    const { route, client, entities, params } = ctx.oidc
    if (route !== 'token' || !client) return
    const token = entities.RefreshToken ?? entities.AuthorizationCode
    recordAudit(db, {
      operation: 'oidc.reuse',
      actor: token?.accountId ?? null,
      client: (client as unknown as ExtraMetadata).tenant,
      object: client.clientId,
      requestId: ctx.response.get('x-request-id'),
      address: (ctx.req as Request).ip ?? '',
      details: { grantType: params?.['grant_type'] },
    }).catch((error: unknown) => logger.error({ err: error }, 'a reused token could not be noted in the audit'))
  })
}
