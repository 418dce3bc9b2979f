import { sql, type Kysely } from 'kysely'
import type { AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { selectRoleScopes, selectUserScopes } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../../database.ts'

/** The columns of an application that oidc-provider needs. */
export interface RegisteredApplication {
  sso_client_id: string
  client_name: string
  secret_hash: Buffer | null
  redirect_uris: readonly string[]
  scopes: readonly string[]
  grant_types: readonly string[]
  /** The uid and the name of the application's organisation. */
  client?: string
  organisation?: string
}

/** The metadata fields that Sluice adds to the client metadata of OpenID Connect. */
export const extraMetadata = ['tenant', 'organisation', 'role_scopes'] as const

export interface ExtraMetadata {
  /** The uid of the organisation. Empty for a built-in application, as is `organisation`. */
  tenant: string
  organisation: string
  role_scopes: string[]
}

/**
 * Converts an application to the client metadata of oidc-provider. The metadata contain only the hash of the secret.
 */
export function toClientMetadata(application: RegisteredApplication): AllClientMetadata & ExtraMetadata {
  const { redirect_uris, scopes, grant_types, secret_hash } = application
  // Only addresses of the user's own machine may begin with http:, so the application is a program there.
  const isNative = redirect_uris.length > 0 && redirect_uris.every((uri) => uri.startsWith('http:'))
  const userScopes = selectUserScopes(scopes)
  return {
    client_id: application.sso_client_id,
    client_name: application.client_name,
    ...(secret_hash && { client_secret: secret_hash.toString('base64url') }),
    token_endpoint_auth_method: secret_hash ? 'client_secret_basic' : 'none',
    redirect_uris: [...redirect_uris],
    grant_types: [...grant_types],
    // If this field is missing, oidc-provider adds a grant type.
    response_types: grant_types.includes('authorization_code') ? ['code'] : [],
    application_type: isNative ? 'native' : 'web',
    id_token_signed_response_alg: 'ES256',
    // Omit an empty scope, because oidc-provider would reject every scope of such an application.
    ...(userScopes.length > 0 && { scope: userScopes.join(' ') }),
    role_scopes: selectRoleScopes(scopes),
    tenant: application.client ?? '',
    organisation: application.organisation ?? '',
  }
}

/**
 * Returns the registered application with this id, unless its organisation is disabled. Every request runs this query,
 * so changes apply at once.
 */
export async function findApplication(db: Kysely<DB>, id: string): Promise<AdapterPayload | undefined> {
  if (!/^[ -~]{2,255}$/.test(id)) return undefined
  const { rows } = await sql<RegisteredApplication>`
    ${prepared('find-application')}
    select applications.sso_client_id, applications.client_name, applications.secret_hash, applications.redirect_uris,
      applications.scopes, applications.grant_types, applications.client, clients.name as organisation
    from sso_client_configs applications join clients on clients.uid = applications.client
    where applications.sso_client_id = ${id} and not clients.disabled`.execute(db)
  return rows[0] && (toClientMetadata(rows[0]) as AdapterPayload)
}
