import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { keepHouseOnce } from '../../src/housekeeping.ts'
import { takeHandover } from '../../src/sign-in/federated/handovers.ts'
import { auditOf, type Service } from '../app-under-test.ts'
import { startTestProvider, type TestProvider } from './test-provider.ts'
import {
  begin,
  clientOf,
  comeBack,
  followed,
  pageOpen,
  signInThrough,
  ssoUser,
  startServiceBesideProviders,
} from './visitor.ts'

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

/** A client with a user whom the provider signs in from now on. */
async function somebody(about: Partial<Parameters<typeof ssoUser>[1]> = {}) {
  const at = await clientOf(service, provider.issuer)
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  return { ...at, ssoId, user: await ssoUser(service, { client: at.client, ssoId, ...about }) }
}

describe('signing in at the provider of a client', () => {
  it('answers tokens, opens a session and is audited', async () => {
    const { code, user, config } = await somebody({ roles: ['ROLE_MANAGE_USER'] })
    const { body } = await signInThrough(service, code)
    const me = await service.bearing(body.accessToken).get('/users/me').expect(200)
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

  it('takes the code of the client in any case, and asks for no more than is needed', async () => {
    const { code, config } = await somebody()
    const { location, setCookie } = await begin(service, code.toUpperCase())
    const asked = new URL(location).searchParams
    expect(Object.fromEntries(asked)).toEqual({
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

  it('makes whoever was invited active', async () => {
    const { code, user } = await somebody({ status: 'INVITATION' })
    expect((await signInThrough(service, code)).status).toBe(200)
    const { rows } = await sql<{ status: string; updated_by: string }>`
      select status, updated_by from users where uid = ${user.uid}`.execute(service.db)
    expect(rows).toEqual([{ status: 'ACTIVE', updated_by: user.uid }])
    const [row] = await auditOf(service.db, user.uid)
    expect(row!.details).toMatchObject({ before: { status: 'INVITATION' }, after: { status: 'ACTIVE' } })
  })

  it('finds the mapping claim in the user information where the ID token has none', async () => {
    const { code, client } = await clientOf(service, provider.issuer, { mappingClaim: 'employee' })
    const user = await ssoUser(service, { client, ssoId: 'E-17' })
    provider.person = { sub: 'p-17' }
    provider.misbehaviour = { hidden: { employee: 'E-17' } }
    const { body } = await signInThrough(service, code)
    expect((await service.bearing(body.accessToken).get('/users/me')).body.id).toBe(user.uid)
  })

  it('uses new keys of the provider at once', async () => {
    const { code } = await somebody()
    expect((await signInThrough(service, code)).status).toBe(200)
    await provider.rotate()
    expect((await signInThrough(service, code)).status).toBe(200)
  })

  it('lets two tabs of one browser sign in beside each other', async () => {
    const { code } = await somebody()
    const [one, two] = [await begin(service, code), await begin(service, code)]
    const jar = `${one.cookie}; ${two.cookie}`
    await comeBack(service, await followed(two.location), jar).expect(200)
    await comeBack(service, await followed(one.location), jar).expect(200)
  })
})

describe('coming back', () => {
  it('works once: of parallel ways back exactly one wins', async () => {
    const { code } = await somebody()
    const { location, cookie } = await begin(service, code)
    const back = await followed(location)
    const answers = await Promise.all(Array.from({ length: 8 }, () => comeBack(service, back, cookie)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 400)])
    expect((await comeBack(service, back, cookie)).body.code).toBe('sso-unknown')
  })

  it('is counted before anything is written: whoever has to wait leaves nothing, and comes back later', async () => {
    const { code } = await somebody()
    const { location, cookie } = await begin(service, code)
    const back = await followed(location)
    const used = async () =>
      (await sql<{ n: number }>`select count(*)::int as n from sso_used_states`.execute(service.db)).rows[0]!.n
    const before = await used()
    await sql`
      insert into sign_in_attempts as a (key, failures, last_at, blocked_until)
      values ('sso:198.51.100.0/24', 101, now(), now() + interval '30 seconds')`.execute(service.db)
    const from = () => comeBack(service, back, cookie).set('x-forwarded-for', '198.51.100.7')
    const answer = await from().expect(429)
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(await used()).toBe(before)
    await sql`delete from sign_in_attempts where key = 'sso:198.51.100.0/24'`.execute(service.db)
    await from().expect(200)
  })

  it.each([
    ['without the cookie', (cookie: string) => cookie.replace(/=.*/, '=')],
    ['in another browser', (cookie: string) => cookie.replace(/=.*/, `=${'A'.repeat(43)}`)],
    ['with another cookie', () => 'a=b'],
  ])('is refused %s', async (_how, changed) => {
    const { code } = await somebody()
    const { location, cookie } = await begin(service, code)
    const answer = await comeBack(service, await followed(location), changed(cookie))
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
  })

  it('is refused with a state that is not ours', async () => {
    const { config } = await somebody()
    const url = `/api/v1/auth/sso/callback?provider=${config}&code=x&state=`
    for (const state of ['x', 'test.AAAA.AAAA', '%00', '..'])
      expect((await service.http.get(url + state)).status).toBe(400)
  })

  it('says what the provider said, and audits it', async () => {
    const { code, config } = await somebody()
    provider.misbehaviour = { back: { code: undefined, error: 'access_denied', error_description: '<b>no</b>' } }
    const answer = await signInThrough(service, code)
    expect([answer.status, answer.body.code]).toEqual([401, 'sso-denied'])
    expect(answer.body.detail).toBe('The sign-in was refused or broken off at the provider.')
    const { rows } = await sql<{ details: object }>`
      select details from audit where details ->> 'provider' = ${config}`.execute(service.db)
    expect(rows[0]?.details).toMatchObject({ outcome: 'SSO_DENIED' })
  })

  it.each([
    ['is inactive', { status: 'INACTIVE' as const }],
    ['has a password here', { ssoAuth: false }],
  ])('signs nobody in who %s', async (_who, about) => {
    const { code, user } = await somebody(about)
    const answer = await signInThrough(service, code)
    expect([answer.status, answer.body.code]).toEqual([401, 'sign-in-failed'])
    expect(await auditOf(service.db, user.uid)).toHaveLength(1)
  })

  it('signs nobody in whose client was disabled meanwhile', async () => {
    const { code, client } = await somebody()
    const { location, cookie } = await begin(service, code)
    await sql`update clients set disabled = true where uid = ${client}`.execute(service.db)
    expect((await comeBack(service, await followed(location), cookie)).status).toBe(400)
  })
})

describe('a client without single sign-on', () => {
  it('answers the same, whether it is unknown, disabled, not set up or without a config', async () => {
    const disabled = await somebody()
    await sql`update clients set disabled = true where uid = ${disabled.client}`.execute(service.db)
    const half = await somebody()
    await sql`update sso_provider_configs set client_id = null where uid = ${half.config}`.execute(service.db)
    const codes = [disabled.code, half.code, 'no-such-client', '%20', 'a'.repeat(300)]
    const answers = await Promise.all(codes.map((code) => service.http.get(`/api/v1/auth/sso/${code}`)))
    for (const { status, body } of answers) {
      expect([status, body.code, body.detail]).toEqual([404, 'not-found', 'No such single sign-on.'])
    }
  })
})

describe('a sign-in that began on a page of the OpenID Provider', () => {
  it('goes back there with a ticket, which is good once, there, for a minute', async () => {
    const { code, user } = await somebody()
    const ticketOf = async () => {
      const answer = await signInThrough(service, code, await pageOpen(service, 'page-1'))
      expect([answer.status, answer.text]).toEqual([302, ''])
      const back = new URL(answer.headers.location as string)
      expect(back.origin + back.pathname).toBe('http://localhost:3001/interaction/page-1/federated')
      return back.searchParams.get('ticket')!
    }
    const facts = { requestId: 'a-request', address: '192.0.2.1' }
    const open = async () =>
      (
        await sql`
          select from sessions s join users u on u.id = s.user_id
          where u.uid = ${user.uid} and s.ended_at is null`.execute(service.db)
      ).rows.length
    const ticket = await ticketOf()
    const taken = await Promise.all([1, 2, 3].map(() => takeHandover(service.db, ticket, 'page-1', facts)))
    expect(taken.filter(Boolean)).toEqual([
      { user: { uid: user.uid, id: expect.any(Number), client: user.client }, session: expect.anything(), amr: [] },
    ])
    expect(await takeHandover(service.db, await ticketOf(), 'page-2', facts)).toBeUndefined()
    const late = await ticketOf()
    await sql`update sso_tickets set expires_at = now() - interval '1 second'`.execute(service.db)
    expect(await takeHandover(service.db, late, 'page-1', facts)).toBeUndefined()
    // What was opened for the other two is of use to nobody.
    expect(await open()).toBe(1)
    const { rows } = await sql`
      select from audit where operation = 'oidc.endSession' and actor = ${user.uid} and request_id = 'a-request'`.execute(
      service.db,
    )
    expect(rows.length).toBe(2)
  })

  it('goes back there when it fails', async () => {
    const { code } = await somebody({ status: 'INACTIVE' })
    const answer = await signInThrough(service, code, await pageOpen(service, 'page-1'))
    expect(answer.headers.location).toBe('http://localhost:3001/interaction/page-1/federated?problem=sign-in-failed')
  })

  it('begins in the browser that has the page open, and nowhere else', async () => {
    const { code } = await somebody()
    const { query, cookie } = await pageOpen(service, 'page-3')
    const other = await pageOpen(service, 'page-4')
    const status = async (search: string, header = '') =>
      (await service.http.get(`/api/v1/auth/sso/${code}${search}`).set('cookie', header)).status
    expect(await status(query, cookie)).toBe(302)
    expect(await status(query)).toBe(400)
    expect(await status(query, other.cookie)).toBe(400)
    expect(await status('?interaction=page-3', cookie)).toBe(400)
    expect(await status(query.replace('page-3', 'page-4'), cookie)).toBe(400)
    await sql`update oidc_models set expires_at = now() - interval '1 second'`.execute(service.db)
    const answer = await service.http.get(`/api/v1/auth/sso/${code}${query}`).set('cookie', cookie)
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
  })

  it('is not led anywhere else', async () => {
    const { code } = await somebody()
    for (const page of ['..', 'a/b', 'https://evil.example.org', '%0d%0a', 'a.b'])
      await service.http.get(`/api/v1/auth/sso/${code}?interaction=${page}`).expect(400)
    await service.http.get(`/api/v1/auth/sso/${code}?redirect=https://evil.example.org`).expect(400)
  })
})

it('forgets what nobody can come back with', async () => {
  await sql`update sso_used_states set expires_at = now() - interval '1 day'`.execute(service.db)
  await sql`update sso_tickets set expires_at = now() - interval '1 day'`.execute(service.db)
  await keepHouseOnce(service.db)
  const { rows } = await sql`select 1 from sso_used_states union all select 1 from sso_tickets`.execute(service.db)
  expect(rows).toEqual([])
})
