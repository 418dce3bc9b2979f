import { createHmac } from 'node:crypto'
import type { JWK } from 'jose'
import type { Kysely } from 'kysely'
import { type Client, type Configuration, type KoaContextWithOIDC, interactionPolicy } from 'oidc-provider'
import { openIdScopes } from '@sluice/contracts'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'
import { parsePublicAddress } from '../public-address.ts'
import { hashSecret } from '../stored-secrets.ts'
import { deviceFlow } from './device-flow.ts'
import { claimsByScope, findAccount } from './storage/accounts.ts'
import { createOidcAdapter } from './storage/oidc-adapter.ts'
import { isConsole } from './storage/built-in-applications.ts'
import { type ExtraMetadata, extraMetadata } from './storage/clients.ts'
import { loadExistingGrant } from './storage/consents.ts'
import { createErrorRenderer } from './provider-pages.ts'
import { createResourceServer } from './resource-server.ts'
import { logoutSource, postLogoutSuccessSource } from './sign-out.ts'

export interface ProviderDependencies {
  db: Kysely<DB>
  config: Config
  /** The private keys. The first one signs tokens. */
  keys: JWK[]
}

const daySeconds = 24 * 3600
const minutes = 60

const readExtraMetadata = (client: unknown) => client as ExtraMetadata

/**
 * Returns the configuration of the library oidc-provider. Sets every option explicitly, so that the library logs no
 * warnings.
 */
export function buildProviderConfiguration({ db, config, keys }: ProviderDependencies): Configuration {
  const { IDENTITY_PUBLIC_URL, ACCESS_TOKEN_SECONDS, SESSION_DAYS } = config
  const { prefix, secure } = parsePublicAddress(IDENTITY_PUBLIC_URL)
  const sessionSeconds = SESSION_DAYS * daySeconds
  const cookie = { httpOnly: true, sameSite: 'lax', secure, signed: true } as const

  return {
    adapter: createOidcAdapter(db, config),
    jwks: { keys: keys as NonNullable<Configuration['jwks']>['keys'] },
    findAccount: findAccount(db),
    loadExistingGrant: loadExistingGrant(db),
    claims: claimsByScope,
    conformIdTokenClaims: false,
    scopes: [...openIdScopes],
    subjectTypes: ['public'],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256'],
      userinfoSigningAlgValues: ['ES256'],
      requestObjectSigningAlgValues: ['ES256'],
    },
    clientDefaults: { id_token_signed_response_alg: 'ES256', grant_types: [], response_types: [] },
    extraClientMetadata: { properties: [...extraMetadata], validator: () => {} },
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    // Only pages of the sites in CORS_ORIGINS may read responses; applications cannot allow further sites.
    clientBasedCORS: () => false,
    clockTolerance: 5,
    routes: { ...oidcPaths, jwks: '/.well-known/jwks.json' },
    interactions: { url: (_ctx, { uid }) => `${prefix}/interaction/${uid}`, policy: createLoginPolicy() },
    cookies: {
      keys: [createHmac('sha256', config.SERVICE_SECRET).update('cookies of the OpenID provider').digest('base64url')],
      names: {
        session: secure ? '__Host-sluice-session' : 'sluice-session',
        interaction: 'sluice-interaction',
        resume: 'sluice-resume',
      },
      long: cookie,
      short: cookie,
    },
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      ClientCredentials: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: minutes,
      DeviceCode: 10 * minutes,
      IdToken: 60 * minutes,
      Interaction: 60 * minutes,
      // A session without a signed-in user lasts only as long as a pending sign-in.
      Session: (_ctx, session) => (session.accountId ? sessionSeconds : 60 * minutes),
      Grant: sessionSeconds,
      /** The lifetime starts at the sign-in; refreshes do not extend it. */
      RefreshToken: (_ctx, token) => {
        const now = Math.floor(Date.now() / 1000)
        const signedInAt = token.iiat ?? now
        return Math.max(1, signedInAt + sessionSeconds - now)
      },
    },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // The library need not delete anything, because the adapter deletes all data of a sign-in when its session ends.
    expiresWithSession: async () => false,
    extraTokenClaims: (ctx, token) => ({
      tenant: readExtraMetadata(token.client).tenant || ctx.oidc.account?.['client'],
      ...('sessionUid' in token && { sid: token.sessionUid, grant: hashSecret(token.grantId).toString('base64url') }),
    }),
    renderError: createErrorRenderer(config),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { ...deviceFlow, enabled: config.DEVICE_FLOW },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect },
      userinfo: { enabled: true },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: { enabled: true, logoutSource, postLogoutSuccessSource },
      resourceIndicators: createResourceServer(ACCESS_TOKEN_SECONDS),
    },
  }
}

/**
 * Returns whether an application may introspect a token: a token of its own, or one of another application of the same
 * organisation. An application without a secret may not introspect tokens, because its identity is not proven.
 */
async function mayIntrospect(ctx: KoaContextWithOIDC, client: Client, token: { clientId?: string }): Promise<boolean> {
  if (client.clientAuthMethod === 'none') return false
  if (token.clientId === client.clientId) return true
  const { tenant } = readExtraMetadata(client)
  const issuedTo = token.clientId === undefined ? undefined : await ctx.oidc.provider.Client.find(token.clientId)
  return tenant !== '' && issuedTo !== undefined && readExtraMetadata(issuedTo).tenant === tenant
}

/**
 * Returns the library's default policy with two changes. A signed-in user who may not use this application has to sign
 * in again, and the console never asks for consent.
 */
function createLoginPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base()
  skipConsentForConsole(policy)
  // `findAccount` finds no account for a user who may not use the application.
  const otherUser = new interactionPolicy.Check(
    'other_user',
    'the signed-in user cannot use this application',
    'login_required',
    ({ oidc }) => Boolean(oidc.session?.accountId) && !oidc.account,
  )
  policy.get('login')?.checks.add(otherUser)
  return policy
}

/** Wraps each check that can ask for consent, so that it asks for none if the application is the console. */
function skipConsentForConsole(policy: interactionPolicy.DefaultPolicy): void {
  for (const consentCheck of policy.get('consent')?.checks ?? []) {
    const { check } = consentCheck
    consentCheck.check = (ctx) =>
      isConsole(ctx.oidc.client?.clientId) ? interactionPolicy.Check.NO_NEED_TO_PROMPT : check(ctx)
  }
}

/** The paths of the OpenID Provider, relative to the public address. */
export const oidcPaths = {
  authorization: '/oidc/auth',
  token: '/oidc/token',
  userinfo: '/oidc/me',
  revocation: '/oidc/token/revocation',
  introspection: '/oidc/token/introspection',
  end_session: '/oidc/session/end',
  device_authorization: '/oidc/device-authorization',
  /** Short, because users type this address. */
  code_verification: '/device',
} as const

/**
 * All paths in their exact spelling. oidc-provider also accepts other letter cases and a trailing slash; such requests
 * would bypass middleware that is mounted by path, such as rate limits.
 */
export const allOidcPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  ...Object.values(oidcPaths),
  `${oidcPaths.authorization}/:uid`,
  `${oidcPaths.code_verification}/:uid`,
  `${oidcPaths.end_session}/confirm`,
  `${oidcPaths.end_session}/success`,
]
