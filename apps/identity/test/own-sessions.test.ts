import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import type { OpenSession, TokenPair } from '@sluice/contracts'
import { goodPassword, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const own = '/users/me/sessions'
const sessionOf = ({ accessToken }: TokenPair) => decodeJwt(accessToken)['sid'] as string
const refresh = ({ refreshToken }: TokenPair) => service.http.post('/api/v1/auth/refresh').send({ refreshToken })

async function threeTimes() {
  const person = await service.as([])
  const more = [await service.signIn(person.username), await service.signIn(person.username)] as const
  return { person, more }
}

it('lists the open sessions of the caller with address and user agent', async () => {
  const person = await service.as([])
  const { body: phone } = await service.http
    .post('/api/v1/auth/login')
    .set('user-agent', `Phone ${'x'.repeat(600)}`)
    .set('x-forwarded-for', '203.0.113.9')
    .send({ username: person.username, password: goodPassword })
    .expect(200)
  const { body } = await person.get(own).expect(200)
  expect(body.map(({ id, current }: OpenSession) => [id, current])).toEqual([
    [sessionOf(phone), false],
    [sessionOf(person.tokens), true],
  ])
  expect(body[0]).toMatchObject({ address: '203.0.113.9', userAgent: expect.stringMatching(/^Phone x{494}$/) })
})

it('lists the applications that a session signed in to', async () => {
  const person = await service.as([])
  await sql`
    with config as (
      insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
      select ${person.client}, id, id, name, '{}', '{}', '{}' from (values ('app-1', 'Wiki'), ('app-2', 'Charts')) a (id, name)
      returning id
    )
    insert into oidc_models (model, id_hash, payload, session_id, sso_client_config_id, expires_at)
    select model, sha256(convert_to(model || config.id, 'UTF8')), '{}', s.id, config.id, now() + interval '1 hour'
    from config, sessions s, (values ('Grant'), ('AccessToken')) m (model)
    where s.uid = ${sessionOf(person.tokens)}`.execute(service.db)
  expect((await person.get(own).expect(200)).body).toMatchObject([{ applications: ['Charts', 'Wiki'] }])
})

it('ends one session of the caller, or all except the current one', async () => {
  const { person, more } = await threeTimes()
  await person.delete(`${own}/${sessionOf(more[0])}`).expect(204)
  await person.delete(`${own}/${sessionOf(more[0])}`).expect(404)
  await refresh(more[0]).expect(401)
  await service.withToken(more[0].accessToken).get('/users/me').expect(401)
  await refresh(more[1]).expect(200)
  await person.delete(own).expect(204)
  await refresh(more[1]).expect(401)
  await person.get('/users/me').expect(200)
  expect((await person.get(own)).body).toHaveLength(1)
})

it('returns 404 for the session of another user', async () => {
  const [one, other] = [await service.as(['ROLE_SUPER_ADMIN']), await service.as([])]
  for (const id of [sessionOf(other.tokens), 'nonsense']) await one.delete(`${own}/${id}`).expect(404)
  await other.get('/users/me').expect(200)
})

it('lets administrators list and end sessions only of users whose roles they also hold', async () => {
  const admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
  const weaker = await service.as(['ROLE_SEE_VIEW'], admin.client)
  const stronger = await service.as(['ROLE_MANAGE_VIEW'], admin.client)
  await admin.get(`/users/${stronger.uid}/sessions`).expect(403)
  await admin.delete(`/users/${stronger.uid}/sessions`).expect(403)
  const { body } = await admin.get(`/users/${weaker.uid}/sessions`).expect(200)
  expect(body).toMatchObject([{ id: sessionOf(weaker.tokens), current: false }])
  await admin.delete(`/users/${weaker.uid}/sessions`).expect(204)
  await weaker.get('/users/me').expect(401)
  await refresh(weaker.tokens).expect(401)
  await stronger.get('/users/me').expect(200)
  expect((await admin.get(`/users/${weaker.uid}/sessions`)).body).toEqual([])
})
