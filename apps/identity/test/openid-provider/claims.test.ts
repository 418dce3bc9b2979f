import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import * as client from 'openid-client'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

const ourApi = 'urn:sluice:api'
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const party = (scopes: ('openid' | 'profile' | 'ROLE_SEE_VIEW' | 'ROLE_MANAGE_USER_GROUP')[]) =>
  relyingParty(service, { scopes, grantTypes: [{ value: 'authorization_code' }, { value: 'refresh_token' }] })

describe('a token for our own services', () => {
  it.each([
    { scopes: ['openid'], scope: 'openid' },
    { scopes: ['openid', 'ROLE_SEE_VIEW'], scope: 'openid' },
    { scopes: ['openid', 'ROLE_SEE_VIEW'], scope: 'openid ROLE_MANAGE_USER_GROUP' },
  ] as const)('is refused to an application with $scopes that asks for $scope', async ({ scopes, scope }) => {
    const own = await party([...scopes])
    const { username } = await own.user()
    const { url, finish } = await own.begin({ scope, resource: ourApi })
    const browser = own.browser()
    const back = await browser.open(url)
    await expect(finish(back)).rejects.toMatchObject({ error: 'invalid_target' })
    // Nor at the next step, when the first asked for less.
    const first = await own.begin({ scope: 'openid' })
    const page = await browser.submit(await browser.open(first.url), { username, password: goodPassword })
    const allowed = await browser.submit(page, { decision: 'allow' })
    const code = allowed.url.searchParams.get('code')!
    await service.http
      .post('/oidc/token')
      .type('form')
      .auth(own.body.ssoClientId, own.body.clientSecret!)
      .send({
        grant_type: 'authorization_code',
        code,
        code_verifier: first.verifier,
        redirect_uri: own.body.redirectUris[0],
        resource: ourApi,
      })
      .expect(400, /invalid_target/)
  })

  it('shows an account only after its user read that it does', async () => {
    const own = await party(['openid', 'ROLE_SEE_VIEW'])
    const user = await own.user()
    const { url, finish } = await own.begin({ scope: 'openid ROLE_SEE_VIEW' })
    const browser = own.browser()
    const question = await browser.submit(await browser.open(url), { username: user.username, password: goodPassword })
    expect(question.html).toContain('see your account details: name, username, e-mail address, roles, groups')
    const tokens = await finish(await browser.submit(question, { decision: 'allow' }))
    const application = service.bearing(tokens.access_token)
    const { body } = await application.get('/session').expect(200)
    expect(body.user.id).toBe(user.uid)
  })

  it('becomes one for userinfo when its roles are left out of a refresh', async () => {
    const own = await party(['openid', 'profile', 'ROLE_SEE_VIEW'])
    const user = await own.user()
    const { tokens } = await own.signIn(user.username, { scope: 'openid profile ROLE_SEE_VIEW' })
    const less = await client.refreshTokenGrant(own.config, tokens.refresh_token!, { scope: 'openid profile' })
    await service.bearing(less.access_token).get('/users/me').expect(401)
    expect(await client.fetchUserInfo(own.config, less.access_token, user.uid)).toMatchObject({ name: 'Test' })
  })

  it('does not end the session of its user', async () => {
    const own = await party(['openid', 'ROLE_SEE_VIEW'])
    const user = await own.user()
    const { tokens } = await own.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    await service.bearing(tokens.access_token).post('/auth/logout').expect(403)
    await service.bearing(tokens.access_token).get('/users/me').expect(200)
  })
})

it('asks users of a program on their own machine every time', async () => {
  const own = await relyingParty(service, { redirectUris: ['http://127.0.0.1/callback'] })
  const user = await own.user()
  const { browser } = await own.signIn(user.username)
  const again = await own.begin()
  expect((await browser.open(again.url)).html).toContain('value="allow"')
  const silent = await own.begin({ prompt: 'none' })
  await expect(silent.finish(await browser.open(silent.url))).rejects.toMatchObject({ error: 'interaction_required' })
})
