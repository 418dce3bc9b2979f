import { errors, type Client, type Configuration, type KoaContextWithOIDC } from 'oidc-provider'
import { accessTokenAudience } from '@sluice/contracts'
import { isConsole } from './storage/built-in-applications.ts'
import type { ExtraMetadata } from './storage/clients.ts'

/** The resource indicator (RFC 8707) that stands for Sluice's own services in token requests. */
export const sluiceApi = 'urn:sluice:api'

type ProviderFeatures = NonNullable<Configuration['features']>

/**
 * Returns the configuration of the only resource server (RFC 8707): Sluice's own services. An application requests
 * access to them by requesting a scope that is a role. If it requests no role, its tokens give no access to these
 * services, because the user has not agreed to that. The console always gets access; its tokens have no scopes.
 */
export const createResourceServer = (tokenSeconds: number): NonNullable<ProviderFeatures['resourceIndicators']> => ({
  enabled: true,

  /** Returns the resource of a request that names none. */
  defaultResource: async (ctx, client) => chooseResource(ctx, listClientRoles(client)) as string,

  /** Returns whether a token request that names no resource gets a token for the resource of the consent. */
  useGrantedResource: async ({ oidc }, codeOrToken) =>
    isConsole(oidc.client?.clientId) ||
    requestsRole(oidc.params?.['scope'] ?? codeOrToken.scope, listClientRoles(oidc.client)),

  /** Returns the settings of access tokens for the resource. Throws an OAuth error if the request may not have one. */
  getResourceServerInfo: async (ctx, resource, client) => {
    const roles = listClientRoles(client)
    if (resource !== sluiceApi) throw new errors.InvalidTarget()
    if (!isConsole(client.clientId)) assertRolesRequested(ctx, roles)
    return {
      scope: roles.join(' '),
      audience: accessTokenAudience,
      accessTokenFormat: 'jwt',
      accessTokenTTL: tokenSeconds,
      jwt: { sign: { alg: 'ES256' } },
    }
  },
})

const listClientRoles = (client: Client | undefined): readonly string[] =>
  (client as unknown as ExtraMetadata | undefined)?.role_scopes ?? []

const parseScope = (scope: unknown): string[] => (typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [])

const requestsRole = (scope: unknown, roles: readonly string[]): boolean =>
  parseScope(scope).some((name) => roles.includes(name))

const isClientGrant = ({ oidc }: KoaContextWithOIDC): boolean => oidc.params?.['grant_type'] === 'client_credentials'

/**
 * Returns `sluiceApi` for the console, for a request with a role among its scopes, and for a client-credentials
 * request, in which a missing scope becomes all roles of the application. Otherwise returns undefined.
 */
function chooseResource(ctx: KoaContextWithOIDC, roles: readonly string[]): string | undefined {
  const { params = {}, client } = ctx.oidc
  if (isConsole(client?.clientId)) return sluiceApi
  // A client-credentials request without a scope parameter gets all roles of the application, as with other providers.
  if (isClientGrant(ctx)) params['scope'] ??= roles.join(' ') || undefined
  return isClientGrant(ctx) || requestsRole(params['scope'], roles) ? sluiceApi : undefined
}

function assertRolesRequested(ctx: KoaContextWithOIDC, roles: readonly string[]): void {
  const scope = ctx.oidc.params?.['scope']
  // A client-credentials request with a forbidden scope fails at once. Otherwise the application would notice the
  // missing role only when it uses the token.
  const lacked = isClientGrant(ctx) ? parseScope(scope).find((name) => !roles.includes(name)) : undefined
  if (lacked !== undefined) throw new errors.InvalidScope('requested scope is not allowed', lacked)
  const isRoleRequested = scope === undefined ? roles.length > 0 : requestsRole(scope, roles)
  if (!isRoleRequested) throw new errors.InvalidTarget('a token for this resource needs a role among its scopes')
}
