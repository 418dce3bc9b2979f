import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { goodPassword, startService, userBody, type Service } from './app-under-test.ts'
import { linkFor } from './mailed-links.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  const client = await service.client({ name: 'Kelp & Otter Works', code: 'KOW-77' })
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'], client)
})
afterAll(() => service.stop())

const about = () => userBody({ name: 'Marguerite Quill' })
const refused = (body: object, pointer: string, password: string) => {
  expect(body).toMatchObject({ code: 'refused', errors: [{ pointer }] })
  expect(JSON.stringify(body)).toContain('The password contains the user’s name')
  expect(JSON.stringify(body)).not.toContain(password)
}

it('rejects a password set by an administrator that contains the name of the user or organisation', async () => {
  const user = about()
  const weak = ['tall-marguer1te-hedges', 'plums-and-QUILL-ink', `${user.username}-plums`, 'forests of kelp rise']
  for (const password of weak)
    refused(
      (
        await admin
          .post('/users')
          .send({ ...user, password })
          .expect(422)
      ).body,
      '/password',
      password,
    )
  const { body } = await admin
    .post('/users')
    .send({ ...user, password: goodPassword })
    .expect(201)
  for (const password of weak) {
    const changed = admin.put(`/users/${body.id}`).send({ ...user, password })
    refused((await changed.expect(422)).body, '/password', password)
    const copied = admin.post(`/users/${body.id}/copies`).send({ ...user, username: `${user.username}x`, password })
    refused((await copied.expect(422)).body, '/password', password)
  }
})

it('a rejected password does not reveal the name of another organisation', async () => {
  const other = await service.client({ name: 'Walrus Holdings' })
  const password = 'a walrus on the shore'
  const body = { ...about(), client: { id: other }, password }
  const answer = await admin.post('/users').send(body).expect(422)
  expect(answer.body.errors).toMatchObject([{ pointer: '/client/id' }])
  const everywhere = await service.as(['ROLE_SUPER_ADMIN'])
  refused((await everywhere.post('/users').send(body).expect(422)).body, '/password', password)
})

it('rejects a password with the name of the user or organisation in a password change, invitation and password reset', async () => {
  const me = await service.as([], admin.client)
  const password = 'forests of kelp rise'
  const changed = me.put('/users/me/password').send({ currentPassword: goodPassword, newPassword: password })
  refused((await changed.expect(422)).body, '/newPassword', password)

  const post = (path: string, token: string) => service.http.post(`/api/v1/auth/${path}`).send({ token, password })
  const reset = await linkFor(service, me.uid, 'PASSWORD_RESET')
  refused((await post('reset-password', reset).expect(422)).body, '/password', password)
  const invited = await service.user({ client: admin.client, status: 'INVITATION' })
  const invitation = await linkFor(service, invited.uid, 'INVITATION')
  refused((await post('accept-invitation', invitation).expect(422)).body, '/password', password)
  // A rejected password leaves the link valid.
  await service.http
    .post('/api/v1/auth/reset-password')
    .send({ token: reset, password: 'otters-juggle-17' })
    .expect(422)
  await service.http.post('/api/v1/auth/reset-password').send({ token: reset, password: 'plums-juggle-17' }).expect(204)
})
