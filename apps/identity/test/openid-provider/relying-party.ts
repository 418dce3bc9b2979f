import * as client from 'openid-client'
import type { Role, SsoClientConfigBody } from '@sluice/contracts'
import { goodPassword, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { Browser, type Page } from './http-browser-client.ts'

export const published = 'http://localhost:3001'

/** Creates an application and its organisation. Signs users in with openid-client, an independent library. */
export async function relyingParty(
  service: Service,
  changes: Partial<SsoClientConfigBody> = {},
  more: Role[] = [],
  at = published,
) {
  const organisation = await service.client({ name: `Acme ${Math.random().toString(36).slice(2)}` })
  const admin = await service.as(
    ['ROLE_MANAGE_SSO_CLIENT_CONFIG', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP', ...more],
    organisation,
  )
  const body = applicationBody(changes)
  const { body: application } = await admin.post('/sso-client-configs').send(body).expect(201)
  const { ssoClientId: id, clientSecret: secret, redirectUris } = body
  const openId = await openIdClient(service, { id, secret, redirectUri: redirectUris[0]! }, at)

  return {
    ...openId,
    organisation,
    admin,
    application,
    body,
    user: (roles: Role[] = ['ROLE_SEE_VIEW']) => service.user({ client: organisation, roles }),
  }
}

interface ClientSettings {
  id: string
  /** None for a public application. */
  secret?: string | null | undefined
  redirectUri: string
}

/** An OpenID client of an independent library, for any application. */
export async function openIdClient(service: Service, { id, secret, redirectUri }: ClientSettings, at = published) {
  const actual = new URL(service.http.get('/').url).origin
  const authentication = secret ? client.ClientSecretBasic(secret) : client.None()
  const config = await client.discovery(new URL(at), id, undefined, authentication, {
    execute: [client.allowInsecureRequests],
    [client.customFetch]: (url, options) => fetch(url.replace(at, actual), options as RequestInit),
  })

  return {
    config,
    actual,
    browser: () => new Browser({ published: at, actual }),
    /** Returns the URL of an authorization request, and `finish`, which exchanges the code for tokens. */
    async begin(parameters: Record<string, string> = {}) {
      const verifier = client.randomPKCECodeVerifier()
      const state = client.randomState()
      const nonce = client.randomNonce()
      const wanted = {
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
        ...parameters,
      }
      const url = client.buildAuthorizationUrl(config, wanted)
      return {
        url,
        verifier,
        finish: (page: Page, maxAge?: number) =>
          client.authorizationCodeGrant(config, page.url, {
            pkceCodeVerifier: verifier,
            expectedState: state,
            expectedNonce: nonce,
            ...(maxAge !== undefined && { maxAge }),
          }),
      }
    },
    /** Signs a user in with the password, gives consent, and returns the tokens. */
    async signIn(
      username: string,
      parameters: Record<string, string> = {},
      browser = new Browser({ published: at, actual }),
    ) {
      const { url, finish } = await this.begin(parameters)
      let page = await browser.open(url)
      if (page.html.includes('name="password"')) page = await browser.submit(page, { username, password: goodPassword })
      if (page.html.includes('value="allow"')) page = await browser.submit(page, { decision: 'allow' })
      if (page.url.origin !== new URL(redirectUri).origin)
        throw new Error(`The sign-in ended at ${page.url.href} instead of the application: ${page.status} ${page.html}`)
      return { browser, page, tokens: await finish(page) }
    },
  }
}
