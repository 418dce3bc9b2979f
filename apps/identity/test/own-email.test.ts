import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { answerPasswordReset } from '../src/sign-in/password/password-reset-requests.ts'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'
import { linkFor } from './mailed-links.ts'
import { enrolSecondFactor } from './enrol-second-factor.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const change = (person: Pick<Awaited<ReturnType<Service['as']>>, 'put'>, body: object) =>
  person.put('/users/me/email').send(body)
async function mailsOf(user: string): Promise<{ kind: string; recipient: string }[]> {
  const { rows } = await sql<{ kind: string; recipient: string }>`
    select m.kind, m.recipient from mails m join users u on u.id = m.user_id where u.uid = ${user} order by m.id`.execute(
    service.db,
  )
  return rows
}
async function forget(username: string): Promise<void> {
  await service.http.post('/api/v1/auth/forgot-password').send({ username }).expect(204)
  while (await answerPasswordReset(service.db, service.config));
}

it('a change of the own e-mail address requires proof, notifies the old address, and invalidates links sent there', async () => {
  const person = await service.as([])
  const reset = await linkFor(service, person.uid, 'PASSWORD_RESET')
  const email = 'mine@example.org'
  await change(person, { email }).expect(400)
  await change(person, { email, password: 'not-the-right-one' }).expect(422)
  await change(person, { email: 'test@example.org', password: goodPassword }).expect(422)
  await change(person, { email, password: goodPassword }).expect(204)

  expect((await person.get('/users/me').expect(200)).body.email).toBe(email)
  expect(await mailsOf(person.uid)).toEqual([{ kind: 'EMAIL_CHANGED', recipient: 'test@example.org' }])
  await service.http
    .post('/api/v1/auth/reset-password')
    .send({ token: reset, password: 'x'.repeat(20) })
    .expect(422)
  expect((await auditOf(service.db, person.uid)).at(-1)).toMatchObject({
    operation: 'account.changeEmail',
    details: { before: { email: 'test@example.org' }, after: { email } },
  })
})

it('a change of the own e-mail address accepts a second-factor code, and is refused to API tokens and single sign-on users', async () => {
  const person = await service.as([])
  const { code } = await enrolSecondFactor(service, person)
  await change(person, { email: 'coded@example.org', code: code() }).expect(204)

  const expires = new Date(Date.now() + 86_400_000).toISOString()
  const token = await person
    .post('/users/me/api-tokens')
    .send({ name: 'T', roles: [], expires, password: goodPassword })
    .expect(201)
  const body = { email: 'other@example.org', password: goodPassword }
  await change(service.withToken(token.body.token), body).expect(403)
  await sql`update users set sso_auth = true, password_hash = null where uid = ${person.uid}`.execute(service.db)
  await change(person, body).expect(422)
})

it('a new e-mail address gets no password reset for a day, unless an administrator set it', async () => {
  const admin = await service.as(['ROLE_MANAGE_USER'])
  const person = await service.as([], admin.client)
  await change(person, { email: 'fresh@example.org', password: goodPassword }).expect(204)
  await forget(person.username)
  expect((await mailsOf(person.uid)).map(({ kind }) => kind)).toEqual(['EMAIL_CHANGED'])
  expect((await auditOf(service.db, person.uid)).at(-1)!.details).toEqual({ outcome: 'address is new' })

  const { body } = await admin.get(`/users/${person.uid}`).expect(200)
  const save = (changes: object) =>
    admin
      .put(`/users/${person.uid}`)
      .send({ ...body, ...changes })
      .expect(200)
  await save({ name: 'Renamed' })
  await forget(person.username)
  expect(await mailsOf(person.uid)).toHaveLength(1)
  await save({ email: 'given@example.org' })
  await forget(person.username)
  expect((await mailsOf(person.uid)).at(-1)).toEqual({ kind: 'PASSWORD_RESET', recipient: 'given@example.org' })

  const secondUser = await service.as([], admin.client)
  await change(secondUser, { email: 'settled@example.org', password: goodPassword }).expect(204)
  await sql`update users set own_email_since = now() - interval '25 hours' where uid = ${secondUser.uid}`.execute(
    service.db,
  )
  await forget(secondUser.username)
  expect((await mailsOf(secondUser.uid)).at(-1)!.kind).toBe('PASSWORD_RESET')
})

it.each([
  ['email', 'other@example.org'],
  ['username', 'somebody-else'],
  ['ssoAuth', true],
  ['ssoId', 's-1'],
])('rejects a change of the %s of an administrator in an update of their own user', async (field, value) => {
  const admin = await service.as(['ROLE_MANAGE_USER'])
  const { body } = await admin.get('/users/me').expect(200)
  const save = (changes: object) => admin.put(`/users/${admin.uid}`).send({ ...body, ...changes })
  const refused = await save({ [field]: value }).expect(422)
  expect(refused.body.errors).toMatchObject([{ pointer: `/${field}` }])
  await save({ name: 'Renamed' }).expect(200)
  const colleague = await service.as(['ROLE_MANAGE_USER'], admin.client)
  await colleague
    .put(`/users/${admin.uid}`)
    .send({ ...body, [field]: value })
    .expect(200)
})
