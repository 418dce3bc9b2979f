import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { auditOf, goodPassword, startService, type Service } from '../app-under-test.ts'
import { commandLine } from './built-in-clients.ts'

let service: Service
let party: Awaited<ReturnType<typeof commandLine>>
beforeAll(async () => {
  service = await startService()
  party = await commandLine(service)
})
afterAll(() => service.stop())

const roles = ['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER', 'ROLE_SUPER_ADMIN'] as const
const scope = 'openid ROLE_SEE_VIEW ROLE_SEE_AUDIT_LOG'
const someone = async () =>
  service.user({ client: await service.client(), roles: ['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER'] })

describe('the command line', () => {
  it('signs in users of every organisation at any port, and asks for consent each time', async () => {
    for (const port of [49_152, 60_001]) {
      const at = await commandLine(service, port)
      const user = await someone()
      const browser = at.browser()
      for (const isFirst of [true, false]) {
        const { url, finish } = await at.begin({ scope })
        let page = await browser.open(url)
        if (isFirst) page = await browser.submit(page, { username: user.username, password: goodPassword })
        expect(page.html).toContain('Allow <bdi>Sluice command line</bdi>?')
        expect(page.html).toContain('see views')
        page = await browser.submit(page, { decision: 'allow' })
        expect(page.url.origin).toBe(`http://127.0.0.1:${port}`)
        const { access_token } = await finish(page)
        expect(decodeJwt(access_token)).toMatchObject({ client_id: 'cli', tenant: user.client, sub: user.uid })
      }
    }
  })

  it('has the roles that it requested and its user has, and is not its user in person', async () => {
    const user = await service.user({ client: await service.client(), roles })
    const { tokens } = await party.signIn(user.username, { scope: `${scope} ROLE_SUPER_ADMIN` })
    expect(tokens.scope!.split(' ').toSorted()).toEqual(['ROLE_SEE_AUDIT_LOG', 'ROLE_SEE_VIEW'])
    const { get, put, post } = service.withToken(tokens.access_token)
    const { body } = await get('/session').expect(200)
    expect(body.user.auths).toEqual(['ROLE_SEE_AUDIT_LOG', 'ROLE_SEE_VIEW'])
    await get('/users').expect(403)
    const change = { currentPassword: goodPassword, newPassword: 'seven otters fold the map' }
    await put('/users/me/password').send(change).expect(403)
    await put('/session/client')
      .send({ clientId: await service.client() })
      .expect(403)
    await post('/auth/logout').expect(403)
  })

  it('shows all requested roles on the consent page, also those that the user allowed before', async () => {
    const user = await someone()
    const { browser } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const { url } = await party.begin({ scope: 'openid groups ROLE_SEE_VIEW' })
    const page = await browser.open(url)
    expect(page.html).toContain('Allow <bdi>Sluice command line</bdi>?')
    expect(page.html).toContain('see views')
  })

  it('gets no token for the API without a role', async () => {
    const { tokens } = await party.signIn((await someone()).username, { scope: 'openid profile' })
    await service.withToken(tokens.access_token).get('/session').expect(401)
    const info = await client.fetchUserInfo(party.config, tokens.access_token, client.skipSubjectCheck)
    expect(info).toHaveProperty('preferred_username')
  })

  it('is in the list of allowed applications, and loses its tokens when the user removes it', async () => {
    const user = await service.as(['ROLE_SEE_VIEW'])
    const { tokens } = await party.signIn(user.username, { scope })
    const { get } = service.withToken(tokens.access_token)
    await get('/session').expect(200)
    const { body: list } = await user.get('/users/me/applications').expect(200)
    expect(list).toMatchObject([{ ssoClientId: 'cli', clientName: 'Sluice command line' }])
    await user.delete(`/users/me/applications/${list[0].id}`).expect(204)
    await get('/session').expect(401)
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  })

  it('signs out by revoking its refresh token, which ends the access token too', async () => {
    const { tokens } = await party.signIn((await someone()).username, { scope })
    const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
    const { get } = service.withToken(next.access_token)
    await get('/session').expect(200)
    await client.tokenRevocation(party.config, next.refresh_token!)
    await get('/session').expect(401)
  })

  it('loses its tokens with the session of the browser', async () => {
    const { browser, tokens } = await party.signIn((await someone()).username, { scope })
    const signedOut = await browser.submit(await browser.open('/oidc/session/end?client_id=cli'), { logout: 'yes' })
    expect(signedOut.html).toContain('You are signed out')
    expect(signedOut.html).not.toContain('127.0.0.1')
    await service.withToken(tokens.access_token).get('/session').expect(401)
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  })

  it('is in the audit of the organisation of its user', async () => {
    const user = await someone()
    await party.signIn(user.username, { scope })
    const rows = async () => (await auditOf(service.db, 'cli')).filter(({ actor }) => actor === user.uid)
    for (; (await rows()).length < 2; ) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await rows()).toMatchObject([
      { operation: 'oidc.consent', client: user.client, details: { outcome: 'allowed' } },
      { operation: 'oidc.exchangeCode', client: user.client, details: { session: expect.any(String) } },
    ])
  })
})
