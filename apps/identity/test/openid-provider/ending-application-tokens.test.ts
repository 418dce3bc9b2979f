import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { SsoClientConfig, SsoClientConfigBody } from '@sluice/contracts'
import { goodPassword } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'
import { Browser } from './http-browser-client.ts'

let installation: Installation
let identity: string
let admin: string
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
  identity = installation.identity[0]!
  const login = { username: 'admin', password: goodPassword }
  admin = (await sendRequest(identity, 'POST', '/auth/login', { body: login })).body.accessToken
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

const scopes: SsoClientConfigBody['scopes'] = ['openid', 'ROLE_SEE_DATA_PIPELINE', 'ROLE_MANAGE_USER']

/** Creates an application, and an access token of the admin for it. */
async function createApplicationToken() {
  const body = applicationBody({ scopes })
  const created = await sendRequest(identity, 'POST', '/sso-client-configs', { token: admin, body })
  const verifier = 'v'.repeat(50)
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier))
  const redirect_uri = body.redirectUris[0]!
  const query = new URLSearchParams({
    client_id: body.ssoClientId,
    redirect_uri,
    response_type: 'code',
    scope: scopes.join(' '),
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = new Browser({ published: identity, actual: identity })
  const login = { username: 'admin', password: goodPassword }
  const question = await browser.submit(await browser.open(`/oidc/auth?${query}`), login)
  const page = await browser.submit(question, { decision: 'allow' })
  const code = page.url.searchParams.get('code')!
  const answer = await fetch(`${identity}/oidc/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${body.ssoClientId}:${body.clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return { body, token, config: created.body as SsoClientConfig }
}
type ApplicationToken = Awaited<ReturnType<typeof createApplicationToken>>

const identityStatus = async (token: string) => (await sendRequest(identity, 'GET', '/users', { token })).status
const pipelineStatus = async (token: string) =>
  (await sendRequest(installation.pipeline, 'GET', '/data-pipelines', { token })).status

/** Events that end the access of an application, and the status that its token gets afterwards. */
const events: Record<string, { trigger(given: ApplicationToken): Promise<{ status: number }>; status: number }> = {
  'the application is deleted': {
    trigger: ({ config }) => sendRequest(identity, 'DELETE', `/sso-client-configs/${config.id}`, { token: admin }),
    status: 401,
  },
  'the application loses a scope': {
    trigger: ({ config, body: { clientSecret: _kept, ...body } }) =>
      sendRequest(identity, 'PUT', `/clients/${config.client.id}/sso-client-configs/${config.id}`, {
        token: admin,
        body: { ...body, scopes: ['openid', 'ROLE_SEE_VIEW'] },
      }),
    status: 403,
  },
  'the application loses the authorization code grant': {
    trigger: ({ config, body: { clientSecret: _kept, ...body } }) =>
      sendRequest(identity, 'PUT', `/clients/${config.client.id}/sso-client-configs/${config.id}`, {
        token: admin,
        body: { ...body, grantTypes: [{ value: 'client_credentials' }] },
      }),
    status: 401,
  },
  'the user withdraws the consent': {
    trigger: ({ config }) => sendRequest(identity, 'DELETE', `/users/me/applications/${config.id}`, { token: admin }),
    status: 401,
  },
}

it.each(Object.entries(events))(
  'when %s, the identity service refuses its token immediately and the pipeline service within ten seconds',
  async (_event, { trigger, status }) => {
    const statusesOf = async (token: string) => [await identityStatus(token), await pipelineStatus(token)]
    const [affected, unaffected] = [await createApplicationToken(), await createApplicationToken()]
    for (const { token } of [affected, unaffected]) expect(await statusesOf(token)).toEqual([200, 200])
    expect([200, 204]).toContain((await trigger(affected)).status)
    const since = Date.now()
    expect(await identityStatus(affected.token)).toBe(status)
    expect(await lastOtherAnswerMs(() => pipelineStatus(affected.token), status, since)).toBeLessThan(10_000)
    expect(await statusesOf(unaffected.token)).toEqual([200, 200])
    // The user's own session token stays valid.
    expect(await statusesOf(admin)).toEqual([200, 200])
  },
)
