import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
})
afterAll(() => service.stop())

const set = (uid: string, status: string) => admin.put(`/users/${uid}/status`).send({ status })

describe('the status of a user', () => {
  it('ends every session and token at once when set to INACTIVE, and allows new sign-ins when set to ACTIVE', async () => {
    const user = await service.as(['ROLE_SEE_VIEW'], admin.client)
    const other = await service.signIn(user.username)
    const { body } = await set(user.uid, 'INACTIVE').expect(200).expect('etag', '"2"')
    expect(body).toMatchObject({ id: user.uid, status: 'INACTIVE', lastUpdatedBy: admin.username })
    await user.get('/session').expect(401)
    await service.withToken(other.accessToken).get('/session').expect(401)
    for (const { refreshToken } of [user.tokens, other])
      await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(401)
    await service.http.post('/api/v1/auth/login').send({ username: user.username, password: goodPassword }).expect(401)

    expect((await set(user.uid, 'ACTIVE').expect(200)).body.status).toBe('ACTIVE')
    await user.get('/session').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: other.refreshToken }).expect(401)
    const { accessToken } = await service.signIn(user.username)
    await service.withToken(accessToken).get('/session').expect(200)

    const rows = await auditOf(service.db, user.uid)
    expect(rows.filter(({ operation }) => operation === 'users.setStatus')).toMatchObject([
      { actor: admin.uid, details: { before: { status: 'ACTIVE' }, after: { status: 'INACTIVE' } } },
      { actor: admin.uid, details: { before: { status: 'INACTIVE' }, after: { status: 'ACTIVE' } } },
    ])
  })

  it('cannot be set to ACTIVE for an invited user without a password, directly or through INACTIVE', async () => {
    const { uid, username } = await service.user({ client: admin.client, status: 'INVITATION' })
    const { body } = await set(uid, 'ACTIVE').expect(422)
    expect(body.errors[0].pointer).toBe('/status')
    await set(uid, 'INACTIVE').expect(200)
    await set(uid, 'ACTIVE').expect(422)
    await admin
      .put(`/users/${uid}`)
      .send(userBody({ username, password: goodPassword }))
      .expect(200)
    await set(uid, 'ACTIVE').expect(200)
    await service.signIn(username)
  })

  it('accepts ACTIVE or INACTIVE only, from callers with the roles of the user and a current If-Match', async () => {
    const { uid } = await service.user({ client: admin.client })
    await set(uid, 'INVITATION').expect(400)
    await set(uid, 'INACTIVE').set('if-match', '"7"').expect(412)
    const stronger = await service.user({ client: admin.client, roles: ['ROLE_MANAGE_CLIENT'] })
    expect((await set(stronger.uid, 'INACTIVE').expect(403)).body.detail).toContain('ROLE_MANAGE_CLIENT')
    await set((await service.as([])).uid, 'INACTIVE').expect(404)
  })

  it('cannot be set to INACTIVE for the last super admin', async () => {
    await using only = { ...(await startService()), [Symbol.asyncDispose]: () => only.stop() }
    const last = await only.as(['ROLE_SUPER_ADMIN'])
    const { body } = await last.put(`/users/${last.uid}/status`).send({ status: 'INACTIVE' }).expect(422)
    expect(body.errors[0].pointer).toBe('/status')
    await last.get('/session').expect(200)
    const second = await only.as(['ROLE_SUPER_ADMIN'])
    await second.put(`/users/${last.uid}/status`).send({ status: 'INACTIVE' }).expect(200)
    await second.put(`/users/${second.uid}/status`).send({ status: 'INACTIVE' }).expect(422)
  })
})
