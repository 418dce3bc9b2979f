import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

describe('the caller’s own user', () => {
  it('can only be deleted or deactivated by another administrator', async () => {
    const admin = await service.as(['ROLE_MANAGE_USER'])
    const other = await service.as(['ROLE_MANAGE_USER'], admin.client)
    const deleted = await admin.delete(`/users/${admin.uid}`).expect(422)
    expect(deleted.body.errors).toEqual([{ pointer: '/', detail: expect.stringContaining('Ask another manager') }])
    const refusal = await admin.put(`/users/${admin.uid}/status`).send({ status: 'INACTIVE' }).expect(422)
    expect(refusal.body.errors[0].pointer).toBe('/status')
    await admin.get('/session').expect(200)
    await other.delete(`/users/${admin.uid}`).expect(204)
  })

  it('cannot give up ROLE_MANAGE_USER while no other active user of the organisation holds it', async () => {
    const admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
    const { body: read } = await admin.get('/users/me').expect(200)
    const less = userBody({ username: admin.username, email: read.email, auths: ['ROLE_SEE_VIEW'] })
    await service.user({ client: admin.client, roles: ['ROLE_MANAGE_USER'], status: 'INACTIVE' })
    const { body } = await admin.put(`/users/${admin.uid}`).send(less).expect(422)
    expect(body.errors).toEqual([{ pointer: '/auths', detail: expect.stringContaining('ROLE_MANAGE_USER') }])
    await admin.get('/users').expect(200)
    await service.user({ client: admin.client, roles: ['ROLE_MANAGE_USER'] })
    await admin.put(`/users/${admin.uid}`).send(less).expect(200)
  })
})
