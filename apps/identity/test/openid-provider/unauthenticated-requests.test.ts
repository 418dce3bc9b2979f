import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { pino } from 'pino'
import { startModelCleanup } from '../../src/openid-provider/storage/adapter.ts'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { relyingParty } from './relying-party.ts'

/** What nobody needs to be known for, however often they do it. */

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())
beforeEach(() => sql`truncate oidc_models`.execute(service.db))

const kept = async () =>
  (
    await sql<{ model: string; hours: number; bytes: number }>`
    select model, (extract(epoch from expires_at - now()) / 3600)::float8 as hours, pg_column_size(payload) as bytes
    from oidc_models`.execute(service.db)
  ).rows

describe('whoever is not signed in', () => {
  it('leaves nothing behind by signing out', async () => {
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
    expect(await kept()).toEqual([])
  })

  it.each(['form_post', 'fragment', 'web_message', 'anything'])(
    'is answered by query, also when %s is asked for',
    async (mode) => {
      const { url } = await party.begin({ response_mode: mode })
      const page = await party.browser().open(url)
      expect(page.url.origin).toBe('https://reports.example.org')
      expect(page.url.searchParams.get('error')).toBe('unsupported_response_mode')
      const { body } = await service.http.get('/.well-known/openid-configuration').expect(200)
      expect(body.response_modes_supported).toEqual(['query'])
    },
  )

  it('leaves what an hour ends by beginning to sign in', async () => {
    const browser = party.browser()
    await browser.open((await party.begin()).url)
    await browser.open((await party.begin()).url)
    const rows = await kept()
    expect(rows.length).toBeGreaterThan(0)
    for (const { hours } of rows) expect(hours).toBeLessThanOrEqual(1)
  })

  it('leaves it until it is swept away, minutes after it has ended', async () => {
    await party.browser().open((await party.begin()).url)
    await sql`update oidc_models set expires_at = now() - interval '2 minutes'`.execute(service.db)
    await party.browser().open((await party.begin()).url)
    const cleanup = startModelCleanup(service.db, pino({ enabled: false }), 20)
    while ((await kept()).length > 1) await sleep(10)
    await sleep(100)
    await cleanup.stop()
    expect(await kept()).toHaveLength(1)
  })

  it.each(['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values', 'prompt', 'id_token_hint'])(
    'is told by a page that %s is too long',
    async (name) => {
      const { url } = await party.begin({ [name]: 'x'.repeat(name === 'id_token_hint' ? 4200 : 2100) })
      const page = await party.browser().open(url)
      expect([page.status, page.headers.get('content-type')]).toEqual([400, expect.stringContaining('text/html')])
      expect(page.html).toContain(`${name} is too long`)
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      const end = await party.browser().open(`/oidc/session/end?${name}=${'x'.repeat(5000)}`)
      expect(end.status).toBe(400)
      expect(await kept()).toEqual([])
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
  ])('gets past no limit by another spelling of an address: %s is none', async (path) => {
    const { url } = await party.begin({ state: 'x'.repeat(8000) })
    for (const search of [url.search, '']) expect((await service.http.get(path + search)).status).toBe(404)
    expect((await service.http.post(path)).status).toBe(404)
    expect(await kept()).toEqual([])
  })

  it('sends no more than fits in all parameters together', async () => {
    const some = Object.fromEntries(['state', 'nonce', 'login_hint', 'a', 'b'].map((name) => [name, 'x'.repeat(2000)]))
    expect((await party.browser().open((await party.begin(some)).url)).status).toBe(400)
    expect(await kept()).toEqual([])
  })
})

describe('guessing the secret of an application', () => {
  const token = (application: typeof party, from: string, secret = application.body.clientSecret!) =>
    service.http
      .post('/oidc/token')
      .set('x-forwarded-for', from)
      .type('form')
      .auth(application.body.ssoClientId, secret)
      .send({ grant_type: 'client_credentials' })

  it('is slowed down in the network that it comes from, and keeps the application out of no other', async () => {
    const own = await relyingParty(service)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) => token(own, `198.51.100.${at}`, `wrong-${at}-abcdefghijklmnopq`)),
    )
    const counts = Object.groupBy(answers, ({ status }) => String(status))
    expect([counts['401']?.length, counts['429']?.length]).toEqual([20, 40])
    const refused = await token(own, '198.51.100.9').expect(429)
    expect(refused.body.error).toBe('invalid_client')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    await token(own, '203.0.113.9').expect(200)
    await token(party, '198.51.100.9').expect(200)
  })

  it('is forgotten once the right one was told and nobody has to wait', async () => {
    const own = await relyingParty(service)
    for (let at = 0; at < 3; at++) {
      for (let wrong = 0; wrong < 10; wrong++) await token(own, '192.0.2.7', 'not-the-secret-0123456789').expect(401)
      await token(own, '192.0.2.7').expect(200)
    }
    const { rows } = await sql`select from sign_in_attempts where key like 'application:%@192.0.2.%'`.execute(
      service.db,
    )
    expect(rows).toEqual([])
  })

  it('is not made easy by one that somebody thought of', async () => {
    for (const clientSecret of ['a'.repeat(30), 'abc123'.repeat(5), '0123456789'.slice(1).repeat(3)]) {
      const { body } = await party.admin.post('/sso-client-configs').send(applicationBody({ clientSecret })).expect(400)
      expect(body.errors).toEqual([
        { pointer: '/clientSecret', detail: expect.stringContaining('different characters') },
      ])
    }
  })
})
