import type { Request } from 'express'
import { sql } from 'kysely'
import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { recordAudit } from '@sluice/database'
import type { Logger } from '@sluice/process'
import type { AuditTally } from './audit-event-counter.ts'
import type { ProviderDependencies } from './configuration.ts'
import type { ExtraMetadata } from './storage/clients.ts'
import { unsupportedTokenType } from './introspect-jwt.ts'
import { findReplayedTokenUser } from './storage/oidc-adapter.ts'

interface EventSinks extends Pick<ProviderDependencies, 'db'> {
  logger: Logger
  tally: AuditTally
}

type ProviderFailure = errors.OIDCProviderError

/**
 * Logs internal errors, and audits issued tokens, revoked tokens and refused requests. A sign-in of a user and a
 * revocation get one row each. Frequent requests of programs get one row per minute with a count. Ordinary token
 * refreshes get no row, because the sign-in already has one.
 */
export function recordEvents(provider: Provider, { db, logger, tally }: EventSinks): void {
  const audit = (ctx: KoaContextWithOIDC, operation: string, user: string | undefined, details: object) => {
    const { client } = ctx.oidc
    if (!client) return
    const { tenant } = client as unknown as ExtraMetadata
    const write = async () =>
      recordAudit(db, {
        operation,
        actor: user ?? null,
        client: tenant || (user === undefined ? null : await findClientOfUser(db, user)),
        object: client.clientId,
        requestId: ctx.response.get('x-request-id'),
        address: readAddress(ctx),
        details,
      })
    write().catch((error: unknown) => logger.error({ err: error, operation }, 'an audit row could not be written'))
  }
  const countRefusal = (ctx: KoaContextWithOIDC, { error }: ProviderFailure) => {
    // A device polls every few seconds until the user has approved the sign-in.
    if (error === 'authorization_pending') return
    const operation = error === 'invalid_client' ? 'oidc.authenticateClient' : `oidc.${ctx.oidc.route}`
    tally.count({
      operation,
      application: readClaimedClientId(ctx),
      proven: error !== 'invalid_client' && ctx.oidc.client !== undefined,
      outcome: error,
      address: readAddress(ctx),
    })
  }

  provider.on('server_error', (ctx, error) => {
    logger.error(
      { err: error, requestId: ctx.response.get('x-request-id'), path: ctx.path },
      'the OpenID provider failed',
    )
  })
  provider.on('grant.success', (ctx) => {
    const { client, entities, params = {} } = ctx.oidc
    const code = entities.AuthorizationCode ?? entities.DeviceCode
    if (params['grant_type'] === 'client_credentials' && client) {
      const address = readAddress(ctx)
      tally.count({ operation: 'oidc.clientCredentials', application: client.clientId, proven: true, address })
    } else if (code) {
      const device = 'deviceInfo' in code && { device: code.deviceInfo }
      audit(ctx, 'oidc.exchangeCode', code.accountId, { session: code.sessionUid, scopes: [...code.scopes], ...device })
    }
  })
  provider.on('authorization.success', (ctx) => {
    const { client, entities, session } = ctx.oidc
    // A sign-in through the pages of an interaction already has an audit row.
    if (entities.Interaction || !client || session?.accountId === undefined) return
    const event = { application: client.clientId, proven: true, user: session.accountId, address: readAddress(ctx) }
    tally.count({ operation: 'oidc.silentSignIn', ...event })
  })
  provider.on('grant.error', countRefusal)
  provider.on('device_authorization.error', countRefusal)
  provider.on('code_verification.error', countRefusal)
  provider.on('revocation.error', countRefusal)
  provider.on('introspection.error', (ctx, error) => {
    // introspect-jwt.ts answers requests with this error.
    if (error.error !== unsupportedTokenType) countRefusal(ctx, error)
  })
  provider.on('grant.revoked', (ctx) => {
    const { route, entities, params = {} } = ctx.oidc
    const token = entities.RefreshToken ?? entities.AccessToken ?? entities.AuthorizationCode
    if (route === 'revocation') audit(ctx, 'oidc.revoke', token?.accountId, { kind: token?.kind })
    if (route === 'token')
      audit(ctx, 'oidc.reuse', token?.accountId ?? findReplayedTokenUser(ctx), { grantType: params['grant_type'] })
  })
}

/**
 * Returns the organisation of a user. Built-in applications belong to no organisation, so their audit rows use the
 * user's.
 */
async function findClientOfUser(db: EventSinks['db'], user: string): Promise<string | null> {
  const { rows } = await sql<{ client: string }>`select client from users where uid = ${user}`.execute(db)
  return rows[0]?.client ?? null
}

const readAddress = (ctx: KoaContextWithOIDC): string => (ctx.req as Request).ip ?? ''

/** Returns the client id that an application claims before it is authenticated; an empty string if it claims none. */
function readClaimedClientId({ oidc, headers }: KoaContextWithOIDC): string {
  const [, basic = ''] = /^Basic ([\w+/=-]{1,2000})$/i.exec(headers.authorization ?? '') ?? []
  const [name = ''] = Buffer.from(basic, 'base64').toString().split(':')
  const clientId = oidc.client?.clientId ?? oidc.params?.['client_id'] ?? name
  return typeof clientId === 'string' ? clientId : ''
}
