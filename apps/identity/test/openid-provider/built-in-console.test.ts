import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { readConfig } from '../../src/config.ts'
import { endSwitchedOff } from '../../src/openid-provider/storage/built-in-applications.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { freePort } from '@sluice/testing/free-port'
import { until } from '@sluice/testing/wait-until'
import { startProgram } from '../start-real-processes.ts'
import { consoleClient, consoleSettings } from './built-in-clients.ts'

let service: Service
let party: Awaited<ReturnType<typeof consoleClient>>
beforeAll(async () => {
  service = await startService(consoleSettings)
  party = await consoleClient(service)
})
afterAll(() => service.stop())

const openid = { scope: 'openid' }
const signedIn = async (roles: Parameters<Service['user']>[0]['roles'] = ['ROLE_SEE_VIEW']) => {
  const user = await service.user({ client: await service.client(), roles })
  const { browser, tokens } = await party.signIn(user.username, openid)
  return { user, browser, tokens, ...service.withToken(tokens.access_token) }
}
const isRefreshed = (tokens: client.TokenEndpointResponse) =>
  client.refreshTokenGrant(party.config, tokens.refresh_token!).then(
    () => true,
    (error: { error?: string }) => error.error,
  )

describe('the console', () => {
  it('signs in users of every organisation without consent, with all their roles', async () => {
    for (const roles of [['ROLE_MANAGE_USER'], ['ROLE_SEE_VIEW', 'ROLE_SEE_AUDIT_LOG']] as const) {
      const { user, tokens, get } = await signedIn(roles)
      const claims = decodeJwt(tokens.access_token)
      expect(claims).toMatchObject({ aud: 'sluice', client_id: 'console', tenant: user.client, sub: user.uid })
      expect([claims['scope'], tokens.claims()!.sub]).toEqual([undefined, user.uid])
      const { body } = await get('/session').expect(200)
      expect(body.user).toMatchObject({ id: user.uid, auths: roles })
      expect(body.activeClient.id).toBe(user.client)
    }
  })

  it('acts in person', async () => {
    const { get, put, post } = await signedIn()
    const { body: sessions } = await get('/users/me/sessions').expect(200)
    expect(sessions).toMatchObject([{ current: true, applications: ['Sluice console'] }])
    const change = { currentPassword: goodPassword, newPassword: 'seven otters fold the map' }
    await put('/users/me/password').send(change).expect(204)
    await post('/auth/logout').expect(204)
    await get('/session').expect(401)
  })

  it('lets a super admin act for another organisation, also with new tokens', async () => {
    const { tokens, get, put } = await signedIn(['ROLE_SUPER_ADMIN'])
    const other = await service.client()
    await put('/session/client').send({ clientId: other }).expect(200)
    expect((await get('/session').expect(200)).body.activeClient.id).toBe(other)
    const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
    const { body } = await service.withToken(next.access_token).get('/session').expect(200)
    expect(body).toMatchObject({ activeClient: { id: other }, user: { auths: ['ROLE_SUPER_ADMIN'] } })
  })

  it('signs a user who is signed in in again without a page, and with prompt=consent too', async () => {
    const { user, browser } = await signedIn()
    for (const more of [{}, { prompt: 'none' }, { prompt: 'consent' }] as Record<string, string>[]) {
      const { url, finish } = await party.begin({ ...openid, ...more })
      expect((await finish(await browser.open(url))).claims()!.sub).toBe(user.uid)
    }
    const { url } = await party.begin({ ...openid, prompt: 'login' })
    expect((await browser.open(url)).html).toContain('name="password"')
    expect((await sql`select from application_consents`.execute(service.db)).rows).toEqual([])
  })

  it('gets no scopes, no opaque token and no other audience, whatever it requests', async () => {
    const { user, browser } = await signedIn()
    const begin = async (more: Record<string, string>) => {
      const { url, finish } = await party.begin({ ...openid, ...more })
      return finish(await browser.open(url))
    }
    const tries: Record<string, string>[] = [
      { scope: 'openid ROLE_SEE_VIEW ROLE_SUPER_ADMIN' },
      { resource: 'urn:sluice:api' },
    ]
    for (const more of tries) {
      const { access_token } = await begin(more)
      expect(decodeJwt(access_token)).toMatchObject({ aud: 'sluice', sub: user.uid })
      expect(decodeJwt(access_token)).not.toHaveProperty('scope')
    }
    await expect(begin({ resource: 'https://elsewhere.example/' })).rejects.toMatchObject({ error: 'invalid_target' })
    await expect(begin({ scope: 'openid email' })).rejects.toMatchObject({ error: 'invalid_scope' })
    await expect(begin({ scope: 'ROLE_SEE_VIEW' })).rejects.toMatchObject({ error: 'invalid_request' })
  })

  it('rotates its refresh token, and loses its tokens when a used one is used again later', async () => {
    const { tokens } = await signedIn()
    const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
    expect(await isRefreshed(tokens)).toBe('invalid_grant')
    const { get } = service.withToken(next.access_token)
    await get('/session').expect(200)
    await sql`
      update oidc_models set consumed_at = now() - interval '11 seconds'
      where model = 'RefreshToken' and consumed_at is not null`.execute(service.db)
    expect(await isRefreshed(tokens)).toBe('invalid_grant')
    expect(await isRefreshed(next)).toBe('invalid_grant')
    await get('/session').expect(401)
  })

  it('must prove its secret, and has no other grant', async () => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'any' }
    const token = () => service.http.post('/oidc/token').type('form')
    await token()
      .send({ ...fields, client_id: 'console' })
      .expect(401)
    await token().auth('console', 'not-the-secret-0123456789').send(fields).expect(401)
    const own = () => token().auth('console', consoleSettings.CONSOLE_SECRET)
    for (const grant_type of ['client_credentials', 'urn:ietf:params:oauth:grant-type:device_code', 'password'])
      expect((await own().send({ grant_type, device_code: 'x' })).status).toBe(400)
    await service.http
      .post('/oidc/device-authorization')
      .type('form')
      .auth('console', consoleSettings.CONSOLE_SECRET)
      .send({ scope: 'openid' })
      .expect(400)
  })

  it('is returned to its exact addresses only, with PKCE', async () => {
    const browser = party.browser()
    for (const redirect_uri of [
      'http://127.0.0.1:3001/session/callback',
      'http://localhost:3000/session/callback',
      'http://127.0.0.1/session/callback',
      'https://console.example.org/session/callback/',
      'https://console.example.org.evil.example/session/callback',
    ])
      expect((await browser.open((await party.begin({ ...openid, redirect_uri })).url)).status).toBe(400)
    const other = await party.begin({ ...openid, redirect_uri: 'http://127.0.0.1:3000/session/callback' })
    expect((await browser.open(other.url)).html).toContain('name="password"')
    const { url } = await party.begin(openid)
    url.searchParams.delete('code_challenge')
    const page = await browser.open(url)
    expect(page.url.searchParams.get('error')).toBe('invalid_request')
  })
})

describe('the tokens of the console end', () => {
  const reasons: Record<string, (one: Awaited<ReturnType<typeof signedIn>>) => Promise<unknown>> = {
    'when the user signs out in the console': ({ post }) => post('/auth/logout').expect(204),
    'when the user signs out on the page': async ({ browser }) =>
      browser.submit(await browser.open('/oidc/session/end'), { logout: 'yes' }),
    'when the user is deactivated': ({ user }) =>
      sql`update users set status = 'INACTIVE' where uid = ${user.uid}`.execute(service.db),
    'when the organisation is disabled': ({ user }) =>
      sql`update clients set disabled = true where uid = ${user.client}`.execute(service.db),
    'when an administrator chooses a new password': async ({ user }) => {
      const admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'], user.client)
      const { body } = await admin.get(`/users/${user.uid}`).expect(200)
      await admin
        .put(`/users/${user.uid}`)
        .send({ ...body, password: 'another-fine-phrase' })
        .expect(200)
    },
    'when the console revokes its refresh token': ({ tokens }) =>
      client.tokenRevocation(party.config, tokens.refresh_token!),
  }

  it.each(Object.entries(reasons))('%s', async (_reason, end) => {
    const [one, other] = [await signedIn(), await signedIn()]
    await end(one)
    await one.get('/session').expect(401)
    expect(await isRefreshed(one.tokens)).toBe('invalid_grant')
    await other.get('/session').expect(200)
    expect(await isRefreshed(other.tokens)).toBe(true)
  })

  it('in all other sessions when the user changes the password', async () => {
    const { user, put, get, tokens } = await signedIn()
    const elsewhere = await party.signIn(user.username, openid)
    const change = { currentPassword: goodPassword, newPassword: 'seven otters fold the map' }
    await put('/users/me/password').send(change).expect(204)
    await get('/session').expect(200)
    expect(await isRefreshed(tokens)).toBe(true)
    await service.withToken(elsewhere.tokens.access_token).get('/session').expect(401)
    expect(await isRefreshed(elsewhere.tokens)).toBe('invalid_grant')
  })

  it('at once when its code is used twice', async () => {
    const user = await service.user({ client: await service.client() })
    const browser = party.browser()
    const { url, finish } = await party.begin(openid)
    const page = await browser.submit(await browser.open(url), { username: user.username, password: goodPassword })
    const tokens = await finish(page)
    const { get } = service.withToken(tokens.access_token)
    await get('/session').expect(200)
    await expect(finish(page)).rejects.toMatchObject({ error: 'invalid_grant' })
    await get('/session').expect(401)
  })
})

describe('without its settings, the console is off and says so', () => {
  const reasons = {
    CONSOLE_SECRET: { ...consoleSettings, CONSOLE_SECRET: undefined },
    CONSOLE_REDIRECT_URIS: { ...consoleSettings, CONSOLE_REDIRECT_URIS: [] },
  }

  it.each(Object.entries(reasons))('%s', async (name, settings) => {
    const off = await startService(settings)
    try {
      const { url } = await party.begin(openid)
      const { text } = await off.http.get(url.pathname + url.search).expect(400)
      expect(text).toContain(`the console is off, because ${name} is not set`)
      const fields = { grant_type: 'refresh_token', refresh_token: 'any' }
      const secret = consoleSettings.CONSOLE_SECRET
      await off.http.post('/oidc/token').type('form').auth('console', secret).send(fields).expect(401)
    } finally {
      await off.stop()
    }
  })
})

describe('a console that is switched off', () => {
  it('loses its tokens when a process starts without its secret, and not while the secret is set', async () => {
    const { get, tokens, user } = await signedIn()
    const direct = service.withToken((await service.signIn(user.username)).accessToken)
    expect(await endSwitchedOff(service.db, service.config)).toBe(0)
    await get('/session').expect(200)
    await using _program = startProgram('identity/bin/serve.ts', {
      IDENTITY_DATABASE_URL: service.config.IDENTITY_DATABASE_URL,
      IDENTITY_PORT: String(await freePort()),
      SECRET_KEYS: `other:${randomBytes(32).toString('base64')}`,
      SERVICE_SECRET: service.config.SERVICE_SECRET,
    })
    await until(async () => (await get('/session')).status === 401)
    await direct.get('/session').expect(200)
    // Here it is still switched on, which does not bring them back.
    expect(await isRefreshed(tokens)).toBe('invalid_grant')
  })
})

describe('the settings of the console', () => {
  const read = (settings: Record<string, string>) => () =>
    readConfig({
      IDENTITY_DATABASE_URL: 'postgres://identity@localhost/identity',
      SECRET_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
      SERVICE_SECRET: 's'.repeat(24),
      ...settings,
    })

  it('accept https, and http at a loopback address', () => {
    const CONSOLE_REDIRECT_URIS = 'https://console.example.org/back, http://127.0.0.1:3000/back,http://[::1]/back'
    expect(read({ CONSOLE_REDIRECT_URIS })().CONSOLE_REDIRECT_URIS).toHaveLength(3)
    expect(read({})()).toMatchObject({ CONSOLE_SECRET: undefined, CONSOLE_REDIRECT_URIS: [] })
    expect(read({ CONSOLE_SECRET: 'x'.repeat(24) })().secrets).toContain('x'.repeat(24))
  })

  it.each([
    ['http://console.example.org/back', 'must begin with https://'],
    ['http://localhost:3000/back', 'must begin with https://'],
    ['javascript:alert(1)', 'must begin with https://'],
    ['https://console.example.org/*', 'must not contain *'],
    ['https://console.example.org/back#part', 'must not contain a fragment'],
    ['https://user@console.example.org/back', 'must not contain a username'],
    ['https://CONSOLE.example.org/back', 'must be written as browsers normalize it'],
    ['console.example.org', 'must be an absolute address'],
  ])('refuse the address %s', (uri, reason) => {
    expect(read({ CONSOLE_REDIRECT_URIS: `https://good.example/,${uri}` })).toThrow(
      `CONSOLE_REDIRECT_URIS has the address "${uri}", which ${reason}`,
    )
  })

  it('refuse a short secret', () => {
    expect(read({ CONSOLE_SECRET: 'short' })).toThrow('CONSOLE_SECRET must have at least 24 characters')
  })
})
