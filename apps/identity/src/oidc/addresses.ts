/** Where the OpenID Provider answers: paths below the public address. */
export const addresses = {
  authorization: '/oidc/auth',
  token: '/oidc/token',
  userinfo: '/oidc/me',
  revocation: '/oidc/token/revocation',
  introspection: '/oidc/token/introspection',
  end_session: '/oidc/session/end',
} as const

/**
 * All of them, spelled as they are. oidc-provider also answers in other cases and with a slash at the end, where what stands
 * before it by the address, limits above all, would not be asked.
 */
export const answered = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  ...Object.values(addresses),
  `${addresses.authorization}/:uid`,
  `${addresses.end_session}/confirm`,
  `${addresses.end_session}/success`,
]
