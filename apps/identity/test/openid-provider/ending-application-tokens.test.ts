import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { SsoClientConfig, SsoClientConfigBody } from '@sluice/contracts'
import { goodPassword } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-answer'
import { ask, startInstallation, type Installation } from '../real-processes.ts'
import { Browser } from './browser.ts'

let installation: Installation
let identity: string
let admin: string
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
  identity = installation.identity[0]!
  const login = { username: 'admin', password: goodPassword }
  admin = (await ask(identity, 'POST', '/auth/login', { body: login })).body.accessToken
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

const scopes: SsoClientConfigBody['scopes'] = ['openid', 'ROLE_SEE_DATA_PIPELINE', 'ROLE_MANAGE_USER']

/** An application, and a token that its user, who may do everything, let it have. */
async function allowed() {
  const body = applicationBody({ scopes })
  const made = await ask(identity, 'POST', '/sso-client-configs', { token: admin, body })
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
  return { body, token, config: made.body as SsoClientConfig }
}
type Allowed = Awaited<ReturnType<typeof allowed>>

const here = async (token: string) => (await ask(identity, 'GET', '/users', { token })).status
const there = async (token: string) => (await ask(installation.pipeline, 'GET', '/data-pipelines', { token })).status

const reasons: Record<string, { bite(given: Allowed): Promise<{ status: number }>; status: number }> = {
  'the application is deleted': {
    bite: ({ config }) => ask(identity, 'DELETE', `/sso-client-configs/${config.id}`, { token: admin }),
    status: 401,
  },
  'the application may do less': {
    bite: ({ config, body: { clientSecret: _kept, ...body } }) =>
      ask(identity, 'PUT', `/clients/${config.client.id}/sso-client-configs/${config.id}`, {
        token: admin,
        body: { ...body, scopes: ['openid', 'ROLE_SEE_VIEW'] },
      }),
    status: 403,
  },
  'the application signs users in no more': {
    bite: ({ config, body: { clientSecret: _kept, ...body } }) =>
      ask(identity, 'PUT', `/clients/${config.client.id}/sso-client-configs/${config.id}`, {
        token: admin,
        body: { ...body, grantTypes: [{ value: 'client_credentials' }] },
      }),
    status: 401,
  },
  'its user takes their yes back': {
    bite: ({ config }) => ask(identity, 'DELETE', `/users/me/applications/${config.id}`, { token: admin }),
    status: 401,
  },
}

it.each(Object.entries(reasons))(
  '%s: what it holds for its user ends at once here, and within ten seconds there',
  async (_reason, { bite, status }) => {
    const [one, staying] = [await allowed(), await allowed()]
    for (const { token } of [one, staying]) expect([await here(token), await there(token)]).toEqual([200, 200])
    expect([200, 204]).toContain((await bite(one)).status)
    const since = Date.now()
    expect(await here(one.token)).toBe(status)
    expect(await lastOtherAnswerMs(() => there(one.token), status, since)).toBeLessThan(10_000)
    expect([await here(staying.token), await there(staying.token)]).toEqual([200, 200])
    // Their own sign-in is not touched by it.
    expect([await here(admin), await there(admin)]).toEqual([200, 200])
  },
)
