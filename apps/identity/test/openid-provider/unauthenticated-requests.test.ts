import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { pino } from 'pino'
import { startModelCleanup } from '../../src/openid-provider/storage/oidc-adapter.ts'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())
beforeEach(() => sql`truncate oidc_models`.execute(service.db))

/** The stored models of the provider, with the hours until their expiry and the bytes of their payload. */
const storedModels = async () =>
  (
    await sql<{ model: string; hours: number; bytes: number }>`
    select model, (extract(epoch from expires_at - now()) / 3600)::float8 as hours, pg_column_size(payload) as bytes
    from oidc_models`.execute(service.db)
  ).rows

describe('a request without a session', () => {
  it('stores nothing when it signs out', async () => {
    const browser = party.browser()
    for (const query of ['', '?state=x', `?client_id=${party.body.ssoClientId}`]) {
      const page = await browser.open(`/oidc/session/end${query}`)
      expect(page.html).toContain('You are signed out')
    }
    const back = 'https://reports.example.org/goodbye'
    const query = new URLSearchParams({
      client_id: party.body.ssoClientId,
      post_logout_redirect_uri: back,
      state: 'away',
    })
    expect((await browser.open(`/oidc/session/end?${query}`)).url.href).toBe(`${back}?state=away`)
    expect(await storedModels()).toEqual([])
  })

  it.each(['form_post', 'fragment', 'web_message', 'anything'])(
    'gets an error in the query if it requests the response mode %s',
    async (mode) => {
      const { url } = await party.begin({ response_mode: mode })
      const page = await party.browser().open(url)
      expect(page.url.origin).toBe('https://reports.example.org')
      expect(page.url.searchParams.get('error')).toBe('unsupported_response_mode')
      const { body } = await service.http.get('/.well-known/openid-configuration').expect(200)
      expect(body.response_modes_supported).toEqual(['query'])
    },
  )

  it('stores what a sign-in needs for at most one hour', async () => {
    const browser = party.browser()
    await browser.open((await party.begin()).url)
    await browser.open((await party.begin()).url)
    const rows = await storedModels()
    expect(rows.length).toBeGreaterThan(0)
    for (const { hours } of rows) expect(hours).toBeLessThanOrEqual(1)
  })

  it('stores rows that the cleanup deletes after they expired, and no other rows', async () => {
    await party.browser().open((await party.begin()).url)
    await sql`update oidc_models set expires_at = now() - interval '2 minutes'`.execute(service.db)
    await party.browser().open((await party.begin()).url)
    const cleanup = startModelCleanup(service.db, pino({ enabled: false }), 20)
    while ((await storedModels()).length > 1) await sleep(10)
    await sleep(100)
    await cleanup.stop()
    expect(await storedModels()).toHaveLength(1)
  })

  it.each(['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values', 'prompt', 'id_token_hint'])(
    'gets a page that names %s if the parameter is too long, and stores nothing',
    async (name) => {
      const { url } = await party.begin({ [name]: 'x'.repeat(name === 'id_token_hint' ? 4200 : 2100) })
      const page = await party.browser().open(url)
      expect([page.status, page.headers.get('content-type')]).toEqual([400, expect.stringContaining('text/html')])
      expect(page.html).toContain(`${name} is too long`)
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      const end = await party.browser().open(`/oidc/session/end?${name}=${'x'.repeat(5000)}`)
      expect(end.status).toBe(400)
      expect(await storedModels()).toEqual([])
    },
  )

  it.each([
    '/oidc/AUTH',
    '/oidc/auth/',
    '/OIDC/auth',
    '/oidc/Session/End',
    '/oidc/session/end/',
    '/oidc/Token',
    '/oidc/x',
  ])('gets 404 for the path %s, so that another spelling of a path avoids no limit', async (path) => {
    const { url } = await party.begin({ state: 'x'.repeat(8000) })
    for (const search of [url.search, '']) expect((await service.http.get(path + search)).status).toBe(404)
    expect((await service.http.post(path)).status).toBe(404)
    expect(await storedModels()).toEqual([])
  })

  it('gets 400 if all parameters together are too long, and stores nothing', async () => {
    const parameters = Object.fromEntries(
      ['state', 'nonce', 'login_hint', 'a', 'b'].map((name) => [name, 'x'.repeat(2000)]),
    )
    expect((await party.browser().open((await party.begin(parameters)).url)).status).toBe(400)
    expect(await storedModels()).toEqual([])
  })
})

describe('guesses of an application secret', () => {
  const requestToken = (application: typeof party, address: string, secret = application.body.clientSecret!) =>
    service.http
      .post('/oidc/token')
      .set('x-forwarded-for', address)
      .type('form')
      .auth(application.body.ssoClientId, secret)
      .send({ grant_type: 'client_credentials' })

  it('are limited to 20 per network, and do not lock the application out of other networks', async () => {
    const own = await relyingParty(service)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        requestToken(own, `198.51.100.${index}`, `wrong-${index}-abcdefghijklmnopq`),
      ),
    )
    const counts = Object.groupBy(answers, ({ status }) => String(status))
    expect([counts['401']?.length, counts['429']?.length]).toEqual([20, 40])
    const refused = await requestToken(own, '198.51.100.9').expect(429)
    expect(refused.body.error).toBe('invalid_client')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    await requestToken(own, '203.0.113.9').expect(200)
    await requestToken(party, '198.51.100.9').expect(200)
  })

  it('are no longer counted after the right secret was sent before the limit', async () => {
    const own = await relyingParty(service)
    for (let round = 0; round < 3; round++) {
      for (let guess = 0; guess < 10; guess++)
        await requestToken(own, '192.0.2.7', 'not-the-secret-0123456789').expect(401)
      await requestToken(own, '192.0.2.7').expect(200)
    }
    const { rows } = await sql`select from sign_in_attempts where key like 'application:%@192.0.2.%'`.execute(
      service.db,
    )
    expect(rows).toEqual([])
  })

  it('are not made easier by secrets with few different characters, which are rejected', async () => {
    for (const clientSecret of ['a'.repeat(30), 'abc123'.repeat(5), '0123456789'.slice(1).repeat(3)]) {
      const { body } = await party.admin.post('/sso-client-configs').send(applicationBody({ clientSecret })).expect(400)
      expect(body.errors).toEqual([
        { pointer: '/clientSecret', detail: expect.stringContaining('different characters') },
      ])
    }
  })
})
