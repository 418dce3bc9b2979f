import { openIdScopes, roles, type Role } from '@sluice/contracts'

/** Our own services as a resource that tokens can be asked for (RFC 8707). */
export const ourApi = 'urn:sluice:api'

/** The scopes that are roles: what an application may do at our own services. */
export const roleScopes = (scopes: readonly string[]): Role[] => roles.filter((role) => scopes.includes(role))

/** The scopes that are about the user. */
export const userScopes = (scopes: readonly string[]): string[] =>
  openIdScopes.filter((scope) => scopes.includes(scope))
