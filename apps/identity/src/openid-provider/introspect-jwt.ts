import { decodeJwt } from 'jose'
import type { Context, Next } from 'koa'
import type { Kysely } from 'kysely'
import { toCaller, toPresentedCredential, tokenVerifier, type PresentedCredential } from '@sluice/http-server'
import type { DB } from '../database.ts'
import type { SigningKeys } from '../sign-in/tokens/signing-keys.ts'
import { findPrincipal } from '../sign-in/sessions/principal.ts'
import type { ExtraMetadata } from './storage/clients.ts'

/** The error that oidc-provider returns for the introspection of any JWT. */
export const unsupportedTokenType = 'unsupported_token_type'

interface IntrospectionDependencies {
  db: Kysely<DB>
  issuer: string
  keys: SigningKeys
}

/**
 * Introspects access tokens (RFC 7662) of Sluice's own API. These JWTs are not stored, so oidc-provider rejects them. A
 * token is active if its signature and times are valid, its sign-in session is open, and its organisation is that of
 * the requesting application.
 */
export function introspectJwt({ db, issuer, keys }: IntrospectionDependencies) {
  const verify = tokenVerifier(issuer, { find: keys.verification, ring: keys.privateKeys })

  return async function answer(ctx: Context, next: Next): Promise<void> {
    await next()
    const { oidc, body } = ctx as Context & { oidc?: IntrospectionRequest; body?: { error?: string } }
    // oidc-provider returns this error only to an authenticated application.
    if (oidc?.route !== 'introspection' || body?.error !== unsupportedTokenType || !oidc.client) return
    const { client } = oidc
    const token = String(oidc.params?.['token'])
    const isAuthenticated = client.clientAuthMethod !== 'none'
    const claims = isAuthenticated ? await findActiveClaims(token, client as unknown as ExtraMetadata) : undefined
    ctx.body = claims ?? { active: false }
    ctx.status = 200
  }

  /** Returns the claims of an active token; undefined for any other token. */
  async function findActiveClaims(token: string, { tenant }: ExtraMetadata): Promise<object | undefined> {
    const presented = await verifyCredential(token)
    const principal = presented && (await findPrincipal(db, presented.credential))
    const caller = presented && toCaller(principal, presented)
    if (!caller || !principal || principal.client.id !== tenant) return undefined
    const { iss, aud, sub, exp, iat, jti, client_id, scope } = decodeJwt(token)
    const { id, code, name } = principal.client
    const organization = { id, code, name }
    return {
      active: true,
      token_type: 'Bearer',
      iss,
      aud,
      sub,
      exp,
      iat,
      jti,
      client_id,
      username: caller.username,
      organization,
      ...(scope !== undefined && { scope }),
    }
  }

  async function verifyCredential(token: string): Promise<PresentedCredential | undefined> {
    try {
      return toPresentedCredential(await verify(token))
    } catch {
      // RFC 7662 requires the response `active: false` for an expired, forged or foreign token.
      return undefined
    }
  }
}

interface IntrospectionRequest {
  route?: string
  params?: Record<string, unknown>
  client?: { clientAuthMethod?: string }
}
