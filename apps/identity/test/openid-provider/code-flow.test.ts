import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())

describe('the OpenID Provider', () => {
  it('publishes its metadata with the configured URL and refuses an unknown Host with 421', async () => {
    const about = party.config.serverMetadata()
    expect(about).toMatchObject({
      issuer: 'http://localhost:3001',
      authorization_endpoint: 'http://localhost:3001/oidc/auth',
      token_endpoint: 'http://localhost:3001/oidc/token',
      jwks_uri: 'http://localhost:3001/.well-known/jwks.json',
      // For the command line only: no application can be registered with it.
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      device_authorization_endpoint: 'http://localhost:3001/oidc/device-authorization',
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
    expect(about.introspection_endpoint).toBe('http://localhost:3001/oidc/token/introspection')
    const other = await service.http
      .get('/.well-known/oauth-authorization-server')
      .set('host', '127.0.0.1:9')
      .set('x-forwarded-host', 'evil.example')
    expect(other.body.token_endpoint).toBe('http://localhost:3001/oidc/token')
    await service.http.get('/.well-known/openid-configuration').set('host', 'evil.example').expect(421)
  })

  it('includes the path of the public URL in its metadata', async () => {
    const below = await startService({ IDENTITY_PUBLIC_URL: 'https://example.org/identity' })
    const { body } = await below.http.get('/.well-known/openid-configuration').expect(200)
    await below.stop()
    expect(body).toMatchObject({
      issuer: 'https://example.org/identity',
      authorization_endpoint: 'https://example.org/identity/oidc/auth',
      jwks_uri: 'https://example.org/identity/.well-known/jwks.json',
      end_session_endpoint: 'https://example.org/identity/oidc/session/end',
    })
  })

  it('returns a 404 problem for unknown paths and methods', async () => {
    for (const path of ['/oidc', '/oidc/', '/oidc/nothing', '/oidc/token/introspection', '/oidc/request'])
      await service.http
        .get(path)
        .expect(404)
        .expect('content-type', /problem\+json/)
  })

  it('signs a user in to an application and asks for consent only once', async () => {
    const user = await party.user()
    const { browser, tokens } = await party.signIn(user.username)
    const claims = tokens.claims()!
    expect(claims).toMatchObject({
      sub: user.uid,
      name: 'Test',
      preferred_username: user.username,
      email: 'test@example.org',
      amr: ['pwd'],
    })
    const info = await client.fetchUserInfo(party.config, tokens.access_token, user.uid)
    expect(info).toMatchObject({ sub: user.uid, preferred_username: user.username })
    // This access token is valid for UserInfo only.
    await service.withToken(tokens.access_token).get('/users/me').expect(401)

    const again = await party.begin()
    const page = await browser.open(again.url)
    expect((await again.finish(page)).claims()!.sub).toBe(user.uid)
  })

  it('issues a token limited to the roles that both the user and the application have', async () => {
    const user = await party.user(['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER'])
    const { tokens } = await party.signIn(user.username, {
      scope: 'openid ROLE_SEE_VIEW ROLE_MANAGE_USER_GROUP ROLE_MANAGE_USER',
    })
    expect(tokens.scope!.split(' ').toSorted()).toEqual(['ROLE_MANAGE_USER_GROUP', 'ROLE_SEE_VIEW'])
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: 'http://localhost:3001',
      aud: 'sluice',
      sub: user.uid,
      client_id: party.body.ssoClientId,
      tenant: party.organisation,
      sid: expect.any(String),
    })
    const application = service.withToken(tokens.access_token)
    const { body: me } = await application.get('/users/me').expect(200)
    expect(me.username).toBe(user.username)
    // Only the application has ROLE_MANAGE_USER_GROUP, and only the user has ROLE_MANAGE_USER.
    await application.get('/user-groups').expect(403)
    await application.get('/users').expect(403)
    // Operations that a user must do in person are refused.
    await application
      .put('/users/me/password')
      .send({ current: goodPassword, password: 'another-good-one-41' })
      .expect(403)
  })

  it('rotates the refresh token and refuses the previous one', async () => {
    const user = await party.user()
    const { tokens } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    await service.withToken(next.access_token).get('/users/me').expect(200)
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    // Within ten seconds, the second use may be a retry, so the token family stays valid.
    await client.refreshTokenGrant(party.config, next.refresh_token!)
  })

  it('returns access_denied to the application if the user denies consent', async () => {
    const user = await party.user()
    const browser = party.browser()
    const { url, finish } = await party.begin()
    const signedIn = await browser.submit(await browser.open(url), { username: user.username, password: goodPassword })
    const page = await browser.submit(signedIn, { decision: 'deny' })
    await expect(finish(page)).rejects.toMatchObject({ error: 'access_denied' })
  })

  it('asks only for new scopes, and for all scopes with prompt=consent', async () => {
    const user = await party.user()
    const { browser } = await party.signIn(user.username, { scope: 'openid' })
    const { url, finish } = await party.begin({ scope: 'openid email ROLE_SEE_VIEW' })
    const page = await browser.open(url)
    expect(page.html).toContain('see your e-mail address')
    expect(page.html).toContain('see view')
    expect(page.html).not.toContain('see your name')
    await finish(await browser.submit(page, { decision: 'allow' }))
    // With prompt=consent, the page also lists scopes that the user allowed before.
    const explicit = await party.begin({ scope: 'openid email ROLE_SEE_VIEW ROLE_MANAGE_ROUTE', prompt: 'consent' })
    const all = await browser.open(explicit.url)
    expect(all.html).toContain('see your e-mail address')
    expect(all.html).toContain('see view')
    // The application is not registered for ROLE_MANAGE_ROUTE.
    expect(all.html).not.toContain('route')
  })

  it('refuses refreshes and asks for consent again after the user withdrew it', async () => {
    const user = await service.as(['ROLE_SEE_VIEW'], party.organisation)
    const { browser, tokens } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const { body: list } = await user.get('/users/me/applications').expect(200)
    expect(list).toMatchObject([
      {
        id: party.application.id,
        clientName: 'Reports',
        scopes: ['openid', 'ROLE_SEE_VIEW'],
        lastUsed: expect.any(String),
      },
    ])
    // The application cannot withdraw the consent.
    await service.withToken(tokens.access_token).delete(`/users/me/applications/${party.application.id}`).expect(403)
    await user.delete(`/users/me/applications/${party.application.id}`).expect(204)
    await user.delete(`/users/me/applications/${party.application.id}`).expect(404)
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const { url } = await party.begin({ scope: 'openid ROLE_SEE_VIEW' })
    expect((await browser.open(url)).html).toContain('value="allow"')
  })

  it('returns login_required or consent_required for prompt=none if interaction is needed', async () => {
    const { url, finish } = await party.begin({ prompt: 'none' })
    await expect(finish(await party.browser().open(url))).rejects.toMatchObject({ error: 'login_required' })
    const user = await party.user()
    const { browser } = await party.signIn(user.username)
    const silent = await party.begin({ prompt: 'none' })
    expect((await silent.finish(await browser.open(silent.url))).claims()!.sub).toBe(user.uid)
    const more = await party.begin({ prompt: 'none', scope: 'openid ROLE_SEE_VIEW' })
    await expect(more.finish(await browser.open(more.url))).rejects.toMatchObject({ error: 'consent_required' })
  })

  it('asks for the password again if the sign-in is older than max_age, and keeps the session', async () => {
    const user = await party.user()
    const { browser, tokens } = await party.signIn(user.username)
    await new Promise((resolve) => setTimeout(resolve, 2100))
    const { url, finish } = await party.begin({ max_age: '1' })
    const page = await browser.open(url)
    expect(page.html).toContain('name="password"')
    const later = await finish(await browser.submit(page, { username: user.username, password: goodPassword }), 1)
    expect(later.claims()!.auth_time).toBeGreaterThan(tokens.claims()!.auth_time as number)
    // The session continues, so its tokens stay valid.
    await client.refreshTokenGrant(party.config, tokens.refresh_token!)
  })
})
