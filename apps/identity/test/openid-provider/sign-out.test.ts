import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
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

const left = 'https://reports.example.org/goodbye'
const sessionsOf = async (uid: string) =>
  (
    await sql<{ end_reason: string | null }>`
    select end_reason from sessions s join users u on u.id = s.user_id where u.uid = ${uid}`.execute(service.db)
  ).rows

describe('sign-out', () => {
  it('needs no confirmation with an id_token_hint and ends the session and its tokens', async () => {
    const user = await party.user()
    const { browser, tokens } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const url = client.buildEndSessionUrl(party.config, {
      id_token_hint: tokens.id_token!,
      post_logout_redirect_uri: left,
      state: 'away',
    })
    const page = await browser.open(url)
    expect(page.url.href).toBe(`${left}?state=away`)
    expect(await sessionsOf(user.uid)).toEqual([{ end_reason: 'SIGNED_OUT' }])
    const { rows: audit } = await sql`
      select client, details from audit where operation = 'oidc.signOut' and actor = ${user.uid}`.execute(service.db)
    expect(audit).toEqual([{ client: party.organisation, details: { application: party.body.ssoClientId } }])
    await service.withToken(tokens.access_token).get('/users/me').expect(401)
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const next = await party.begin({ prompt: 'none' })
    await expect(next.finish(await browser.open(next.url))).rejects.toMatchObject({ error: 'login_required' })
  })

  it('requires a confirmation without an id_token_hint of the signed-in user', async () => {
    const user = await party.user()
    const other = await party.user()
    const { browser } = await party.signIn(user.username)
    const { tokens: others } = await party.signIn(other.username)
    for (const query of ['', `?client_id=${party.body.ssoClientId}`, `?id_token_hint=${others.id_token}`]) {
      const page = await browser.open(`/oidc/session/end${query}`)
      expect(page.html).toContain('Sign out?')
      const stays = await browser.submit(page, {})
      expect(stays.status).toBe(200)
      expect(await sessionsOf(user.uid)).toEqual([{ end_reason: null }])
    }
    const page = await browser.submit(await browser.open('/oidc/session/end'), { logout: 'yes' })
    expect(page.html).toContain('You are signed out')
    expect(await sessionsOf(user.uid)).toEqual([{ end_reason: 'SIGNED_OUT' }])
    const { rows: audit } = await sql`
      select client, details from audit where operation = 'oidc.signOut' and actor = ${user.uid}`.execute(service.db)
    expect(audit).toEqual([{ client: party.organisation, details: { application: null } }])
  })

  it('shows the final page without a script if the browser is not signed in', async () => {
    const page = await party.browser().open('/oidc/session/end')
    expect([page.status, page.url.pathname]).toEqual([200, '/oidc/session/end/success'])
    expect(page.html).toContain('You are signed out')
    expect(page.html).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).not.toMatch(/script-src[^;]*sha256/)
    const wish = { client_id: party.body.ssoClientId, post_logout_redirect_uri: left, state: 'away' }
    const away = await party.browser().open(`/oidc/session/end?${new URLSearchParams(wish)}`)
    expect(away.url.href).toBe(`${left}?state=away`)
    const unregistered = new URLSearchParams({ ...wish, post_logout_redirect_uri: 'https://evil.example/' })
    expect((await party.browser().open(`/oidc/session/end?${unregistered}`)).status).toBe(400)
  })

  it('refuses redirect URIs that are not registered and keeps the session open', async () => {
    const user = await party.user()
    const { browser, tokens } = await party.signIn(user.username)
    for (const uri of [
      'https://evil.example/',
      'https://reports.example.org.evil.example/',
      'https://a@reports.example.org/',
      'http://reports.example.org/',
      'javascript:alert(1)',
      '//reports.example.org/',
    ]) {
      const query = new URLSearchParams({ id_token_hint: tokens.id_token!, post_logout_redirect_uri: uri })
      const page = await browser.open(`/oidc/session/end?${query}`)
      expect([uri, page.status, page.url.origin]).toEqual([uri, 400, 'http://localhost:3001'])
      expect(page.html).toContain('not set up')
    }
    expect(await sessionsOf(user.uid)).toEqual([{ end_reason: null }])
  })

  it('ends the session of the first user if a second user signs in with prompt=login', async () => {
    const first = await party.user()
    const second = await party.user()
    const { browser } = await party.signIn(first.username)
    const { url, finish } = await party.begin({ prompt: 'login' })
    let page = await browser.submit(await browser.open(url), { username: second.username, password: goodPassword })
    // This page submits its form with a script, and has a button for browsers without scripts.
    expect(page.headers.get('content-security-policy')).toMatch(/script-src 'self' 'sha256-/)
    page = await browser.submit(page, {})
    page = await browser.submit(page, { decision: 'allow' })
    expect((await finish(page)).claims()!.sub).toBe(second.uid)
    expect(await sessionsOf(first.uid)).toEqual([{ end_reason: 'SIGNED_OUT' }])
  })
})

describe('tokens and sessions of an application', () => {
  const ended = async (uid: string, end: () => Promise<unknown>) => {
    const { rows } = await sql<{ username: string }>`select username from users where uid = ${uid}`.execute(service.db)
    const { browser, tokens } = await party.signIn(rows[0]!.username, { scope: 'openid ROLE_SEE_VIEW' })
    const opaque = await party.signIn(rows[0]!.username, {}, browser)
    await end()
    await expect(client.refreshTokenGrant(party.config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    await expect(client.fetchUserInfo(party.config, opaque.tokens.access_token, uid)).rejects.toThrow()
    await service.withToken(tokens.access_token).get('/users/me').expect(401)
    const next = await party.begin({ prompt: 'none' })
    await expect(next.finish(await browser.open(next.url))).rejects.toMatchObject({ error: 'login_required' })
  }

  it('become invalid if the session ends, tokens are invalidated or the user becomes inactive', async () => {
    const user = await party.user()
    await ended(user.uid, () =>
      sql`update sessions set ended_at = now(), end_reason = 'SIGNED_OUT' where ended_at is null`.execute(service.db),
    )
    await ended(user.uid, () =>
      sql`update users set token_valid_after = now() + interval '1 second' where uid = ${user.uid}`.execute(service.db),
    )
    const inactive = await party.user()
    await ended(inactive.uid, () =>
      sql`update users set status = 'INACTIVE' where uid = ${inactive.uid}`.execute(service.db),
    )
  })

  it('become invalid if the organisation is disabled, with the tokens of the application itself', async () => {
    const own = await relyingParty(service)
    const user = await own.user()
    const { browser, tokens } = await own.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const itself = await client.clientCredentialsGrant(own.config)
    await service.withToken(itself.access_token).get('/user-groups').expect(200)
    await sql`update clients set disabled = true where uid = ${own.organisation}`.execute(service.db)
    await service.withToken(itself.access_token).get('/user-groups').expect(401)
    await service.withToken(tokens.access_token).get('/users/me').expect(401)
    await expect(client.clientCredentialsGrant(own.config)).rejects.toMatchObject({ status: 401 })
    await expect(client.refreshTokenGrant(own.config, tokens.refresh_token!)).rejects.toMatchObject({ status: 401 })
    const { url } = await own.begin()
    const page = await browser.open(url)
    expect([page.status, page.url.origin]).toEqual([400, 'http://localhost:3001'])
    expect(page.html).toContain('not registered here')
  })

  it('become invalid if the application is deleted', async () => {
    const own = await relyingParty(service)
    const user = await own.user()
    const { tokens } = await own.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const itself = await client.clientCredentialsGrant(own.config)
    await own.admin.delete(`/sso-client-configs/${own.application.id}`).expect(204)
    await service.withToken(itself.access_token).get('/user-groups').expect(401)
    await expect(client.refreshTokenGrant(own.config, tokens.refresh_token!)).rejects.toMatchObject({ status: 401 })
    const { rows } = await sql`
      select from oidc_models m join sessions s on s.id = m.session_id join users u on u.id = s.user_id
      where u.uid = ${user.uid} and m.model not in ('Session', 'Interaction')`.execute(service.db)
    expect(rows).toEqual([])
  })
})
