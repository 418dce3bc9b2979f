import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  type Configuration,
  type IDToken,
} from 'openid-client'
import { createClientConfig, type Federation } from './provider-metadata.ts'
import type { ProviderConfig } from './provider-config.ts'
import { ProviderProblem, toProviderProblem } from './provider-problem.ts'
import { deriveNonceAndVerifier } from './pending-sign-in.ts'

/** The identity of a person at their SSO provider. */
export interface FederatedPerson {
  issuer: string
  subject: string
  /** The value of the provider's mapping claim. It identifies the user with the same `ssoId`. */
  ssoId: string
  /** The authentication methods that the provider reports (RFC 8176). */
  amr: string[]
}

const wantedScopes = ['openid', 'email', 'profile']

/**
 * Returns the authorization URL of the provider. The nonce and the PKCE verifier derive from `secret`, which only the
 * browser has. Throws `ProviderProblem`.
 */
export async function createAuthorizationUrl(
  provider: ProviderConfig,
  federation: Federation,
  { state, secret }: { state: string; secret: string },
): Promise<URL> {
  const { nonce, codeVerifier } = deriveNonceAndVerifier(secret)
  const metadata = await federation.metadata(provider.issuer)
  const supportedScopes = Array.isArray(metadata.scopes_supported) ? metadata.scopes_supported : wantedScopes
  // Always request `openid`, which OpenID Connect requires.
  const scopes = wantedScopes.filter((scope) => scope === 'openid' || supportedScopes.includes(scope))
  return buildAuthorizationUrl(createClientConfig({ metadata, ...provider }, federation.outgoing), {
    response_type: 'code',
    redirect_uri: provider.redirectUri,
    scope: scopes.join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
}

/**
 * Exchanges the authorization code of a callback for the person's identity. `search` is the query of the callback URL,
 * and `secret` the browser's secret from the start of the sign-in. Throws `ProviderProblem`.
 */
export async function exchangeCallback(
  provider: ProviderConfig,
  federation: Federation,
  { search, state, secret }: { search: string; state: string; secret: string },
): Promise<FederatedPerson> {
  const { nonce, codeVerifier } = deriveNonceAndVerifier(secret)
  try {
    const metadata = await federation.metadata(provider.issuer)
    const config = createClientConfig({ metadata, ...provider }, federation.outgoing)
    const callback = new URL(provider.redirectUri)
    callback.search = search
    const tokens = await authorizationCodeGrant(config, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()!
    return {
      issuer: new URL(claims.iss).href,
      subject: parseSubject(claims.sub),
      ssoId: await readMappingClaim(claims, provider.mappingClaim, config, tokens.access_token),
      amr: parseAuthenticationMethods(claims.amr),
    }
  } catch (error) {
    const problem = toProviderProblem(error)
    const providerDeclined = problem?.fault === 'SSO_DENIED'
    // The provider's endpoints may have changed since the metadata was cached, so the next attempt reads it again.
    if (!providerDeclined) federation.forget(provider.issuer)
    throw problem ?? error
  }
}

/** Matches text that the database can store: 1 to 255 characters without control characters and lone surrogates. */
const storableText = /^[^\p{Cc}\p{Cs}]{1,255}$/u

function parseSubject(subject: string): string {
  if (!storableText.test(subject))
    throw new ProviderProblem(
      'SSO_TOKEN_INVALID',
      'The claim sub must be a text of 1 to 255 characters. Correct it at the provider.',
    )
  return subject
}

/**
 * Returns the value of the mapping claim from the ID token or, if it is missing there, from the provider's userinfo
 * endpoint. Throws `ProviderProblem` if the value is missing or not a short text, and for an e-mail address that the
 * provider has not verified.
 */
async function readMappingClaim(
  claims: IDToken,
  claim: string,
  config: Configuration,
  accessToken: string,
): Promise<string> {
  const { userinfo_endpoint } = config.serverMetadata()
  const needsUserInfo = !Object.hasOwn(claims, claim) && userinfo_endpoint !== undefined
  const allClaims = needsUserInfo ? await fetchUserInfo(config, accessToken, claims.sub) : claims
  const value = Object.hasOwn(allClaims, claim) ? allClaims[claim] : undefined
  if (typeof value !== 'string' || !storableText.test(value))
    throw new ProviderProblem(
      'SSO_TOKEN_INVALID',
      `The claim ${claim} must be a text of 1 to 255 characters. Correct it at the provider, or choose another mapping claim.`,
    )
  if (claim === 'email' && allClaims.email_verified !== true)
    throw new ProviderProblem(
      'SSO_TOKEN_INVALID',
      'The provider has not verified the e-mail address of this user. Verify it there.',
    )
  return value
}

const parseAuthenticationMethods = (amr: unknown): string[] =>
  Array.isArray(amr)
    ? amr
        .filter((method): method is string => typeof method === 'string' && /^[\w.:/-]{1,50}$/.test(method))
        .slice(0, 10)
    : []
