import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { runMaintenanceOnce } from '../../src/maintenance/maintenance.ts'
import { auditOf, type Service } from '../app-under-test.ts'
import { startTestProvider, type TestProvider } from './identity-provider-stand-in.ts'
import {
  startSignIn,
  createClientAt,
  requestCallback,
  followRedirect,
  throttleNetwork,
  signInAtProvider,
  createFederatedUser,
  createSsoUser,
  startServiceBesideProviders,
} from './federated-sign-in-setup.ts'

let service: Service
let provider: TestProvider
beforeAll(async () => {
  service = await startServiceBesideProviders()
  provider = await startTestProvider()
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})
beforeEach(() => {
  provider.misbehaviour = {}
})

const createUserAtProvider = (about: Parameters<typeof createFederatedUser>[2] = {}) =>
  createFederatedUser(service, provider, about)

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'accept-language': 'en' }
const pageHeaders = {
  'content-type': expect.stringMatching(/^text\/html/),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy': expect.stringContaining("default-src 'none'"),
}

describe('a sign-in at the provider of an organisation', () => {
  it('returns tokens, opens a session and writes an audit entry', async () => {
    const { code, user, config } = await createUserAtProvider({ roles: ['ROLE_MANAGE_USER'] })
    const { body } = await signInAtProvider(service, code)
    const me = await service.withToken(body.accessToken).get('/users/me').expect(200)
    expect(me.body.id).toBe(user.uid)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: body.refreshToken }).expect(200)
    const [entry] = await auditOf(service.db, user.uid)
    expect(entry).toMatchObject({
      operation: 'auth.finishSso',
      actor: user.uid,
      client: user.client,
      details: { outcome: 'signed in', provider: config, session: expect.any(String) },
    })
  })

  it('shows a browser a page that names the signed-in user and has a button to sign out', async () => {
    const { code, user } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code)
    const answer = await requestCallback(service, await followRedirect(location), cookie)
      .set(browser)
      .expect(200)
    expect(answer.headers).toMatchObject(pageHeaders)
    expect(answer.headers['set-cookie']).toEqual([expect.stringMatching(/Max-Age=0/)])
    expect(answer.text).toContain('<h1>You are signed in</h1>')
    expect(answer.text).toContain(`(<bdi>${user.username}</bdi>) is signed in to`)
    const [refreshToken] = /slr_[\w-]+/.exec(answer.text)!
    const refreshed = await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)
    await service.withToken(refreshed.body.accessToken).get('/users/me').expect(200)
    const [, action] = /<form method="post" action="([^"]+)"/.exec(answer.text)!
    const signedOut = await service.http.post(action!).type('form').send({ refreshToken }).expect(200)
    expect(signedOut.text).toContain('<h1>You are signed out</h1>')
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: refreshed.body.refreshToken }).expect(401)
    const { rows } = await sql<{ outcome: string }>`
      select details ->> 'outcome' as outcome from audit where operation = 'auth.logout' and actor = ${user.uid}`.execute(
      service.db,
    )
    expect(rows).toEqual([{ outcome: 'signed out' }])
    await service.http.post(action!).type('form').send({ refreshToken: 'slr_unknown' }).expect(200)
    const unknown = await sql`select from audit where details ->> 'outcome' = 'unknown'`.execute(service.db)
    expect(unknown.rows).toEqual([])
  })

  it('accepts the organisation code in any case, and requests only the scopes it needs', async () => {
    const { code, config } = await createUserAtProvider()
    const { location, setCookie } = await startSignIn(service, code.toUpperCase())
    const { searchParams } = new URL(location)
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: 'sluice-at-the-provider',
      response_type: 'code',
      redirect_uri: `http://localhost:3001/api/v1/auth/sso/callback?provider=${config}`,
      scope: 'openid email profile',
      state: expect.any(String),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(setCookie).toMatch(
      /^sluice-sso-[\w-]{16}=[\w-]{43}; Path=\/api\/v1\/auth\/sso\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
  })

  it('activates an invited user', async () => {
    const { code, user } = await createUserAtProvider({ status: 'INVITATION' })
    expect((await signInAtProvider(service, code)).status).toBe(200)
    const { rows } = await sql<{ status: string; updated_by: string }>`
      select status, updated_by from users where uid = ${user.uid}`.execute(service.db)
    expect(rows).toEqual([{ status: 'ACTIVE', updated_by: user.uid }])
    const [row] = await auditOf(service.db, user.uid)
    expect(row!.details).toMatchObject({ before: { status: 'INVITATION' }, after: { status: 'ACTIVE' } })
  })

  it('reads the mapping claim from the UserInfo response when the ID token lacks it', async () => {
    const { code, client } = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    const user = await createSsoUser(service, { client, ssoId: 'E-17' })
    provider.person = { sub: 'p-17' }
    provider.misbehaviour = { hidden: { employee: 'E-17' } }
    const { body } = await signInAtProvider(service, code)
    expect((await service.withToken(body.accessToken).get('/users/me')).body.id).toBe(user.uid)
  })

  it.each([
    ['a lone surrogate', 'a\ud800b'],
    ['a control character', 'a\0b'],
    ['an empty text', ''],
    ['more than 255 characters', 'x'.repeat(256)],
  ])('rejects a user whose mapping claim contains %s, and writes an audit entry', async (_what, text) => {
    const { code, config } = await createUserAtProvider()
    const mapped = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    for (const [at, person] of [
      [{ code, config }, { sub: text }],
      [mapped, { sub: 'subject', employee: text }],
    ] as const) {
      provider.person = person
      const answer = await signInAtProvider(service, at.code)
      expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
      const { rows } = await sql<{ outcome: string }>`
        select details ->> 'outcome' as outcome from audit where details ->> 'provider' = ${at.config}`.execute(
        service.db,
      )
      expect(rows).toEqual([{ outcome: expect.stringMatching(/^SSO_(TOKEN|ANSWER)_INVALID$/) }])
    }
  })

  it('accepts new keys of the provider at once', async () => {
    const { code } = await createUserAtProvider()
    expect((await signInAtProvider(service, code)).status).toBe(200)
    await provider.rotate()
    expect((await signInAtProvider(service, code)).status).toBe(200)
  })

  it('completes in two tabs of one browser at the same time', async () => {
    const { code } = await createUserAtProvider()
    const [one, two] = [await startSignIn(service, code), await startSignIn(service, code)]
    const jar = `${one.cookie}; ${two.cookie}`
    await requestCallback(service, await followRedirect(two.location), jar).expect(200)
    await requestCallback(service, await followRedirect(one.location), jar).expect(200)
  })
})

describe('the callback of a federated sign-in', () => {
  it('succeeds once when called concurrently', async () => {
    const { code } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code)
    const callbackUrl = await followRedirect(location)
    const answers = await Promise.all(Array.from({ length: 8 }, () => requestCallback(service, callbackUrl, cookie)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 400)])
    expect((await requestCallback(service, callbackUrl, cookie)).body.code).toBe('sso-unknown')
  })

  it('is throttled before anything is written, and can be retried later', async () => {
    const { code } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code)
    const callbackUrl = await followRedirect(location)
    const used = async () =>
      (await sql<{ n: number }>`select count(*)::int as n from sso_used_states`.execute(service.db)).rows[0]!.n
    const before = await used()
    const waiting = await throttleNetwork(service)
    const sendCallback = () => requestCallback(service, callbackUrl, cookie).set('x-forwarded-for', waiting.address)
    const answer = await sendCallback().expect(429)
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(await used()).toBe(before)
    await waiting.endWait()
    await sendCallback().expect(200)
  })

  it.each([
    ['without the cookie', (cookie: string) => cookie.replace(/=.*/, '=')],
    ['in another browser', (cookie: string) => cookie.replace(/=.*/, `=${'A'.repeat(43)}`)],
    ['with another cookie', () => 'a=b'],
  ])('is refused %s', async (_how, changed) => {
    const { code } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code)
    const answer = await requestCallback(service, await followRedirect(location), changed(cookie))
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
  })

  it('is refused with an unknown state', async () => {
    const { config } = await createUserAtProvider()
    const url = `/api/v1/auth/sso/callback?provider=${config}&code=x&state=`
    for (const state of ['x', 'test.AAAA.AAAA', '%00', '..'])
      expect((await service.http.get(url + state)).status).toBe(400)
  })

  it('returns the error of the provider, and writes an audit entry', async () => {
    const { code, config } = await createUserAtProvider()
    provider.misbehaviour = { back: { code: undefined, error: 'access_denied', error_description: '<b>no</b>' } }
    const answer = await signInAtProvider(service, code)
    expect([answer.status, answer.body.code]).toEqual([401, 'sso-denied'])
    expect(answer.body.detail).toBe('The sign-in was refused or cancelled at the provider. Start again.')
    const { rows } = await sql<{ details: object }>`
      select details from audit where details ->> 'provider' = ${config}`.execute(service.db)
    expect(rows[0]?.details).toMatchObject({ outcome: 'SSO_DENIED' })
  })

  it.each([
    [
      'that refused the sign-in',
      { code: undefined, error: 'access_denied' },
      401,
      'refused the sign-in, or you cancelled it',
    ],
    ['whose response names another issuer', { iss: 'https://other.example.org' }, 502, 'did not respond correctly'],
  ])('shows a browser an error page for a provider %s', async (_what, back, status, sentence) => {
    const { code } = await createUserAtProvider()
    provider.misbehaviour = { back }
    const { location, cookie } = await startSignIn(service, code)
    const answer = await requestCallback(service, await followRedirect(location), cookie)
      .set(browser)
      .expect(status)
    expect(answer.headers).toMatchObject(pageHeaders)
    expect(answer.text).toContain('<h1>Sign-in failed</h1>')
    expect(answer.text).toContain(sentence)
    expect(answer.text).toContain(answer.headers['x-request-id'])
  })

  it('returns a page to browsers and JSON to programs for an unknown sign-in, user or organisation', async () => {
    const { code, config } = await createUserAtProvider({ status: 'INACTIVE' })
    const { location, cookie } = await startSignIn(service, code)
    const callbackUrl = await followRedirect(location)
    const refused = await requestCallback(service, callbackUrl, cookie).set(browser).expect(401)
    expect(refused.text).toContain('your account does not belong to an active user here')
    const again = await requestCallback(service, callbackUrl, cookie)
      .set(browser)
      .set('accept-language', 'de')
      .expect(400)
    expect(again.text).toContain('<h1>Diese Anmeldung ist nicht mehr gültig</h1>')
    const callback = `/api/v1/auth/sso/callback?provider=${config}`
    const unreadable = await service.http.get(callback).set(browser).expect(400)
    expect(unreadable.text).toContain('<h1>This sign-in is no longer valid</h1>')
    const unknown = await service.http.get('/api/v1/auth/sso/no-such-client').set(browser).expect(404)
    expect(unknown.text).toContain('<h1>Page not found</h1>')
    for (const { headers } of [refused, again, unreadable, unknown]) expect(headers).toMatchObject(pageHeaders)
    const program = await requestCallback(service, callbackUrl, cookie).set('accept', 'application/json').expect(400)
    expect([program.type, program.body.code]).toEqual(['application/problem+json', 'sso-unknown'])
    const other = await service.http.get('/api/v1/users/me').set(browser).expect(401)
    expect(other.type).toBe('application/problem+json')
  })

  it.each([
    ['is inactive', { status: 'INACTIVE' as const }],
    ['has a password here', { ssoAuth: false }],
  ])('refuses a user who %s', async (_who, about) => {
    const { code, user } = await createUserAtProvider(about)
    const answer = await signInAtProvider(service, code)
    expect([answer.status, answer.body.code]).toEqual([401, 'sign-in-failed'])
    expect(await auditOf(service.db, user.uid)).toHaveLength(1)
  })

  it('refuses a user whose organisation was disabled during the sign-in', async () => {
    const { code, client } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code)
    await sql`update clients set disabled = true where uid = ${client}`.execute(service.db)
    expect((await requestCallback(service, await followRedirect(location), cookie)).status).toBe(400)
  })
})

describe('the sign-in of an organisation without single sign-on', () => {
  it('returns the same response for an unknown, disabled or unconfigured organisation', async () => {
    const disabled = await createUserAtProvider()
    await sql`update clients set disabled = true where uid = ${disabled.client}`.execute(service.db)
    const unconfigured = await createUserAtProvider()
    await sql`update sso_provider_configs set client_id = null where uid = ${unconfigured.config}`.execute(service.db)
    const codes = [disabled.code, unconfigured.code, 'no-such-client', '%20', 'a'.repeat(300)]
    const answers = await Promise.all(codes.map((code) => service.http.get(`/api/v1/auth/sso/${code}`)))
    for (const { status, body } of answers) {
      expect([status, body.code, body.detail]).toEqual([404, 'not-found', 'This organisation has no single sign-on.'])
    }
  })
})

it('maintenance deletes expired federated sign-ins', async () => {
  await sql`update sso_used_states set expires_at = now() - interval '1 day'`.execute(service.db)
  await sql`update sso_tickets set expires_at = now() - interval '1 day'`.execute(service.db)
  await runMaintenanceOnce(service.db)
  const { rows } = await sql`select 1 from sso_used_states union all select 1 from sso_tickets`.execute(service.db)
  expect(rows).toEqual([])
})
