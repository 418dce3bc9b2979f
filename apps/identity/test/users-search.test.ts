import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startService, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
})
afterAll(() => service.stop())

const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer).toSorted()

describe('user search', () => {
  it('returns pages and totals of the caller’s organisation only', async () => {
    const { client, ...admin } = await service.as(['ROLE_MANAGE_USER'])
    for (let at = 0; at < 5; at++)
      await service.user({ client, username: `page-${client.slice(0, 8)}-${at}`, roles: ['ROLE_GET_FILE'] })
    const first = await admin
      .post('/users/search')
      .send({ filter: ['auths:in:[ROLE_GET_FILE]'], order: ['username:desc'], paging: { pageSize: 2 } })
      .expect(200)
      .expect('x-total-count', '5')
      .expect('x-page-count', '3')
    expect(first.body.map(({ username }: { username: string }) => username.at(-1))).toEqual(['4', '3'])

    const listed = await admin
      .get('/users?filter=auths:in:[ROLE_GET_FILE]&order=username&page=2&pageSize=2')
      .expect(200)
    expect(listed.body.map(({ username }: { username: string }) => username.at(-1))).toEqual(['2', '3'])
    expect(listed.headers['link']).toContain('rel="next"')
    expect((await admin.get(`/users?query=PAGE-${client.slice(0, 8)}-3`).expect(200)).body).toHaveLength(1)
    expect((await admin.get('/users?query=%25').expect(200)).body).toHaveLength(0)
  })

  it('filters by analytics platform, whichever junction the other filters use', async () => {
    const { client, ...admin } = await service.as(['ROLE_MANAGE_USER'])
    const { username } = await service.user({ client, analytics: true })
    const names = (answer: { body: { username: string }[] }) => answer.body.map(({ username }) => username)
    expect(names(await admin.get('/users?analyticsPlatform=true').expect(200))).toEqual([username])
    expect(names(await admin.get('/users?analyticsPlatform=false').expect(200))).toEqual([admin.username])
    const filter = ['name:eq:Test', 'name:eq:Nobody']
    const request = { analyticsPlatform: true, rootJunction: 'OR', filter, paging: {} }
    expect(names(await admin.post('/users/search').send(request).expect(200))).toEqual([username])
  })

  it('accepts every listed property, and rejects secret ones', async () => {
    const names = [
      'id',
      'name',
      'displayName',
      'username',
      'email',
      'status',
      'startPage',
      'ssoAuth',
      'ssoId',
      'auths',
      'created',
      'lastUpdated',
    ]
    const more = [
      'createdBy',
      'lastUpdatedBy',
      'client.id',
      'client.code',
      'client.name',
      'userGroups.id',
      'userGroups.code',
      'userGroups.name',
      'analyticsPlatformEnabled',
      'twoFactorAuth',
    ]
    const filter = [...names, ...more].map((name) => `${name}:null`)
    const clientManager = await service.as(['ROLE_MANAGE_USER', 'ROLE_MANAGE_CLIENT'])
    for (const some of [filter.slice(0, 12), filter.slice(12)])
      await clientManager.post('/users/search').send({ filter: some, paging: {} }).expect(200)
    // Properties of clients need a role that can see clients.
    const refused = await admin
      .get('/users?filter=client.code:like:a&filter=client.id:null&order=client.name')
      .expect(400)
    expect(pointers(refused.body)).toEqual(['/filter/0', '/filter/1', '/order/0'])
    const { body } = await admin
      .post('/users/search')
      .send({
        filter: ['password:like:a', 'passwordHash:like:a', 'name:almost:a'],
        order: ['tokenValidAfter'],
        paging: {},
      })
      .expect(400)
    expect(pointers(body)).toEqual(['/filter/0', '/filter/1', '/filter/2', '/order/0'])
  })
})
