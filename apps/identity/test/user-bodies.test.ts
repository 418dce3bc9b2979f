import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, userBody, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
})
afterAll(() => service.stop())

const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)

describe('a user body', () => {
  it('is rejected if it changes a property with its own operation, and the error names the operation', async () => {
    const { uid, username } = await service.user({ client: admin.client, status: 'INACTIVE' })
    const { body: read } = await admin.get(`/users/${uid}`).expect(200)
    const put = (changes: object) => admin.put(`/users/${uid}`).send({ ...userBody({ username }), ...changes })
    for (const lastUpdated of [undefined, null, read.lastUpdated])
      for (const [field, value, address] of [
        ['status', 'ACTIVE', 'PUT /users/{uid}/status'],
        ['twoFactorAuth', true, 'second-factor'],
      ] as const) {
        const { body } = await put({ [field]: value, lastUpdated }).expect(422)
        expect(body.errors).toEqual([{ pointer: `/${field}`, detail: expect.stringContaining(address) }])
      }
    // An older `lastUpdated` shows that the caller repeats old values, so they are ignored.
    const old = await put({ status: 'ACTIVE', twoFactorAuth: true, lastUpdated: '2020-01-01T00:00:00.000Z' }).expect(
      200,
    )
    expect(old.body).toMatchObject({ status: 'INACTIVE', twoFactorAuth: false })
    await put({ status: 'INACTIVE', twoFactorAuth: false }).expect(200)
    expect(pointers((await put({ status: 'X' }).expect(400)).body)).toEqual(['/status'])
  })

  it('is rejected with the id of another user, and accepted as the invitation returned it', async () => {
    const { body: invited } = await admin.post('/users/invite').send(userBody()).expect(201)
    expect(invited.invitationLink).toEqual(expect.any(String))
    await admin.put(`/users/${invited.id}`).send(invited).expect(200)
    await admin
      .put(`/users/${invited.id}`)
      .send({ ...invited, id: invited.id.toUpperCase() })
      .expect(200)
    const { body } = await admin
      .put(`/users/${invited.id}`)
      .send({ ...invited, id: randomUUID() })
      .expect(422)
    expect(pointers(body)).toEqual(['/id'])
  })

  it('accepts null for optional properties, and e-mail addresses of international domains', async () => {
    const { body: created } = await admin
      .post('/users')
      .send({ ...userBody({ email: 'é@dömäin.org' }), ssoId: null, translations: null, fileAccessInstances: null })
      .expect(201)
    expect(created).toMatchObject({ email: 'é@dömäin.org', translations: [], fileAccessInstances: [] })
    expect(created).not.toHaveProperty('ssoId')
    expect(
      pointers(
        (
          await admin
            .post('/users')
            .send({ ...userBody(), name: null })
            .expect(400)
        ).body,
      ),
    ).toEqual(['/name'])
    for (const email of ['nobody', 'a@b@c.org', 'a b@example.org', 'a@-x.org', 'a@example.org\nBcc: b@example.org'])
      expect(pointers((await admin.post('/users').send(userBody({ email })).expect(400)).body)).toContain('/email')
  })

  it('is not accepted by PUT or DELETE /users/me, which return 405 and name the alternatives', async () => {
    for (const method of ['put', 'delete'] as const) {
      const { body } = await admin[method]('/users/me').send({}).expect(405)
      expect(body.detail).toContain('below /users/me')
    }
    const { headers } = await service.http.patch('/api/v1/users/me').expect(405)
    expect(headers['allow']).toBe('GET')
  })

  it('has access flags and file access instances that a search can filter by', async () => {
    const client = await service.client({ routesEnabled: false })
    const root = await service.as(['ROLE_SUPER_ADMIN'])
    const [piping, routing] = await Promise.all([
      service.user({ client, roles: ['ROLE_MANAGE_DATA_PIPELINE'] }),
      service.user({ client, roles: ['ROLE_SEE_ROUTE'] }),
    ])
    const found = async (path: string, ...filters: string[]) => {
      const filter = [`client.id:eq:${client}`, ...filters].map((one) => `filter=${one}`).join('&')
      const { body } = await root.get(`${path}?${filter}`).expect(200)
      return Array.isArray(body) ? body.map(({ id }: { id: string }) => id) : body.height
    }
    expect(await found('/users', 'hasDataPipelineAccess:eq:true')).toEqual([piping.uid])
    // The organisation has switched routes off.
    expect(await found('/users', 'hasRouteAccess:eq:true')).toEqual([])
    expect(await found('/users', 'hasDataPipelineAccess:eq:false')).toEqual([routing.uid])
    expect(await found('/reports/user-access', 'hasDataPipelineAccess:eq:true')).toBe(1)
    await sql`update users set file_access_instances = '{north}' where uid = ${routing.uid}`.execute(service.db)
    expect(await found('/users', 'fileAccessInstances:in:[north]')).toEqual([routing.uid])
  })
})
