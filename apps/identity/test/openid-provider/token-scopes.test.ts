import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import * as client from 'openid-client'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

const sluiceApi = 'urn:sluice:api'
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const createApplication = (scopes: ('openid' | 'profile' | 'ROLE_SEE_VIEW' | 'ROLE_MANAGE_USER_GROUP')[]) =>
  relyingParty(service, { scopes, grantTypes: [{ value: 'authorization_code' }, { value: 'refresh_token' }] })

describe('a token for the services of Sluice', () => {
  it.each([
    { scopes: ['openid'], scope: 'openid' },
    { scopes: ['openid', 'ROLE_SEE_VIEW'], scope: 'openid' },
    { scopes: ['openid', 'ROLE_SEE_VIEW'], scope: 'openid ROLE_MANAGE_USER_GROUP' },
  ] as const)('is refused to an application with $scopes that requests $scope', async ({ scopes, scope }) => {
    const application = await createApplication([...scopes])
    const { username } = await application.user()
    const { url, finish } = await application.begin({ scope, resource: sluiceApi })
    const browser = application.browser()
    const callback = await browser.open(url)
    await expect(finish(callback)).rejects.toMatchObject({ error: 'invalid_target' })
    // The token request is refused too, if only it names the resource.
    const first = await application.begin({ scope: 'openid' })
    const page = await browser.submit(await browser.open(first.url), { username, password: goodPassword })
    const allowed = await browser.submit(page, { decision: 'allow' })
    const code = allowed.url.searchParams.get('code')!
    await service.http
      .post('/oidc/token')
      .type('form')
      .auth(application.body.ssoClientId, application.body.clientSecret!)
      .send({
        grant_type: 'authorization_code',
        code,
        code_verifier: first.verifier,
        redirect_uri: application.body.redirectUris[0],
        resource: sluiceApi,
      })
      .expect(400, /invalid_target/)
  })

  it('gives access to the account, which the consent page lists before', async () => {
    const application = await createApplication(['openid', 'ROLE_SEE_VIEW'])
    const user = await application.user()
    const { url, finish } = await application.begin({ scope: 'openid ROLE_SEE_VIEW' })
    const browser = application.browser()
    const question = await browser.submit(await browser.open(url), { username: user.username, password: goodPassword })
    expect(question.html).toContain('see your account details: name, username, e-mail address, roles, groups')
    const tokens = await finish(await browser.submit(question, { decision: 'allow' }))
    const { body } = await service.withToken(tokens.access_token).get('/session').expect(200)
    expect(body.user.id).toBe(user.uid)
  })

  it('is replaced by a token for UserInfo only, if a refresh requests no roles', async () => {
    const application = await createApplication(['openid', 'profile', 'ROLE_SEE_VIEW'])
    const user = await application.user()
    const { tokens } = await application.signIn(user.username, { scope: 'openid profile ROLE_SEE_VIEW' })
    const { config } = application
    const less = await client.refreshTokenGrant(config, tokens.refresh_token!, { scope: 'openid profile' })
    await service.withToken(less.access_token).get('/users/me').expect(401)
    expect(await client.fetchUserInfo(config, less.access_token, user.uid)).toMatchObject({ name: 'Test' })
  })

  it('cannot end the session of its user', async () => {
    const application = await createApplication(['openid', 'ROLE_SEE_VIEW'])
    const user = await application.user()
    const { tokens } = await application.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    await service.withToken(tokens.access_token).post('/auth/logout').expect(403)
    await service.withToken(tokens.access_token).get('/users/me').expect(200)
  })
})

it('an application with a loopback redirect URI needs consent at every sign-in', async () => {
  const application = await relyingParty(service, { redirectUris: ['http://127.0.0.1/callback'] })
  const user = await application.user()
  const { browser } = await application.signIn(user.username)
  const second = await application.begin()
  expect((await browser.open(second.url)).html).toContain('value="allow"')
  const silent = await application.begin({ prompt: 'none' })
  await expect(silent.finish(await browser.open(silent.url))).rejects.toMatchObject({ error: 'interaction_required' })
})
