import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { goodPassword } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'
import { Browser } from './http-browser-client.ts'

let installation: Installation
let admin: string
const web = applicationBody({ ssoClientId: 'console' }) as { clientSecret: string; redirectUris: string[] }
beforeAll(async () => {
  const settings = { CONSOLE_SECRET: web.clientSecret, CONSOLE_REDIRECT_URIS: web.redirectUris[0]! }
  installation = await startInstallation({ pipeline: true, settings })
  const login = { username: 'admin', password: goodPassword }
  admin = (await sendRequest(installation.identity[0]!, 'POST', '/auth/login', { body: login })).body.accessToken
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

const exchange = async (as: { ssoClientId: string; clientSecret?: string | null }, fields: Record<string, string>) => {
  const answer = await fetch(`${installation.identity[0]}/oidc/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${as.ssoClientId}:${as.clientSecret}`)}` },
    body: new URLSearchParams(fields),
  })
  return (await answer.json()) as Record<string, string>
}
const pipelines = async (token: string) =>
  (await sendRequest(installation.pipeline, 'GET', '/data-pipelines', { token })).status
const views = async (token: string) => (await sendRequest(installation.pipeline, 'GET', '/schemas', { token })).status

it('an application calls the pipeline service with its own roles, until it is deleted', async () => {
  const [identity = ''] = installation.identity
  const body = applicationBody({ scopes: ['openid', 'ROLE_SEE_DATA_PIPELINE'] })
  const created = await sendRequest(identity, 'POST', '/sso-client-configs', { token: admin, body })
  const { access_token = '' } = await exchange(body, { grant_type: 'client_credentials' })
  expect(await pipelines(access_token)).toBe(200)
  expect(await views(access_token)).toBe(403)
  expect(
    (await sendRequest(identity, 'DELETE', `/sso-client-configs/${created.body.id}`, { token: admin })).status,
  ).toBe(204)
  const since = Date.now()
  expect(await lastOtherAnswerMs(() => pipelines(access_token), 401, since)).toBeLessThan(10_000)
})

it('an application calls the pipeline service for its user, with the requested scopes only', async () => {
  const [identity = ''] = installation.identity
  const body = applicationBody({ scopes: ['openid', 'ROLE_SEE_DATA_PIPELINE'] })
  expect((await sendRequest(identity, 'POST', '/sso-client-configs', { token: admin, body })).status).toBe(201)
  const verifier = 'v'.repeat(50)
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier))
  const query = new URLSearchParams({
    client_id: body.ssoClientId,
    redirect_uri: body.redirectUris[0]!,
    response_type: 'code',
    scope: 'openid ROLE_SEE_DATA_PIPELINE',
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = new Browser({ published: identity, actual: identity })
  const question = await browser.submit(await browser.open(`/oidc/auth?${query}`), {
    username: 'admin',
    password: goodPassword,
  })
  const page = await browser.submit(question, { decision: 'allow' })
  const tokens = await exchange(body, {
    grant_type: 'authorization_code',
    code: page.url.searchParams.get('code')!,
    redirect_uri: body.redirectUris[0]!,
    code_verifier: verifier,
  })
  // The admin has every role, and the token only the requested one.
  expect(await pipelines(tokens['access_token']!)).toBe(200)
  expect(await views(tokens['access_token']!)).toBe(403)
  expect((await sendRequest(identity, 'GET', '/users', { token: tokens['access_token']! })).status).toBe(403)
})

it('the console calls the pipeline for its user with all roles, and until the user signs out', async () => {
  const [identity = ''] = installation.identity
  const verifier = 'v'.repeat(50)
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier))
  const query = new URLSearchParams({
    client_id: 'console',
    redirect_uri: web.redirectUris[0]!,
    response_type: 'code',
    scope: 'openid',
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = new Browser({ published: identity, actual: identity })
  const signIn = await browser.open(`/oidc/auth?${query}`)
  const page = await browser.submit(signIn, { username: 'admin', password: goodPassword })
  const application = { ssoClientId: 'console', clientSecret: web.clientSecret }
  const { access_token: token = '' } = await exchange(application, {
    grant_type: 'authorization_code',
    code: page.url.searchParams.get('code')!,
    redirect_uri: web.redirectUris[0]!,
    code_verifier: verifier,
  })
  expect([await pipelines(token), await views(token)]).toEqual([200, 200])
  // Only super admins in person may do this.
  const unknown = `/deleted-clients/${crypto.randomUUID()}`
  expect((await sendRequest(installation.pipeline, 'DELETE', unknown, { token })).status).toBe(404)
  expect((await sendRequest(identity, 'POST', '/auth/logout', { token })).status).toBe(204)
  const since = Date.now()
  expect(await lastOtherAnswerMs(() => pipelines(token), 401, since)).toBeLessThan(10_000)
})
