import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startService, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const forbiddenProperties = [
  'password',
  'passwordHash',
  'password_hash',
  'r.password_hash',
  'hash',
  'clientSecret',
  'secret',
  'totp',
  'twoFactorSecret',
  'seed',
  'recoveryCodes',
  'apiTokens',
  'apiTokens.tokenHash',
  'token_valid_after',
  'usernameSkeleton',
  'search_text',
  'client.users.password',
  'client.users',
  'userGroups.users.password',
  'sessions.uid',
  'constructor',
  '__proto__',
]
const lists = ['users', 'user-groups', 'clients'].map((noun) => [noun])

describe.each(lists)('a search of %s', (noun) => {
  it.each(forbiddenProperties)(
    'rejects %s in filters and orders, with the same error for every value',
    async (name) => {
      const filters = ['$like:$argon2', 'like:a', 'eq:', 'null', '!null', 'in:[a,b]'].map((rest) => `${name}:${rest}`)
      for (const filter of filters) {
        const { body } = await admin
          .post(`/${noun}/search`)
          .send({ filter: [filter], paging: {} })
          .expect(400)
        expect(body.errors).toEqual([
          { pointer: '/filter/0', detail: expect.stringMatching(/^names .+ which is not one of: id, name/) },
        ])
      }
      for (const order of [`${name}:asc`, name]) {
        const { body } = await admin
          .post(`/${noun}/search`)
          .send({ order: [order], paging: {} })
          .expect(400)
        expect(body.errors).toEqual([
          { pointer: '/order/0', detail: expect.stringMatching(/^names .+ which is not one of: id, name/) },
        ])
      }
      // It is also rejected beside a valid filter.
      const filter = ['name:!null', `${name}:null`]
      await admin.post(`/${noun}/search`).send({ filter, rootJunction: 'OR', paging: {} }).expect(400)
    },
  )
})

it('a search returns no row, total or cursor of another organisation to an administrator', async () => {
  const otherClient = await service.client({ name: 'Hidden place' })
  const hidden = await service.user({ client: otherClient, username: 'hidden-person' })
  const stranger = await service.as(['ROLE_MANAGE_USER', 'ROLE_MANAGE_CLIENT', 'ROLE_MANAGE_USER_GROUP'])
  for (const request of [
    { filter: [`id:eq:${hidden.uid}`] },
    { filter: [`client.id:eq:${otherClient}`] },
    { filter: ['client.name:like:Hidden'] },
    { query: 'hidden-person' },
    { filter: ['username:like:hidden', 'name:!null', 'name:null'], rootJunction: 'OR' },
    { filter: ['status:eq:ACTIVE'] },
  ]) {
    const { body, headers } = await stranger
      .post('/users/search')
      .send({ ...request, paging: { pageSize: 1 } })
      .expect(200)
    expect(JSON.stringify(body)).not.toContain(hidden.uid)
    expect(Number(headers['x-total-count'])).toBe(body.length)
    expect(headers).not.toHaveProperty('x-next-cursor')
  }
  // A cursor of a super admin gives no access to other organisations.
  const search = { order: ['username'], paging: { pageSize: 1 } }
  const after = (await admin.post('/users/search').send(search).expect(200)).headers['x-next-cursor']
  const { body } = await stranger
    .post('/users/search')
    .send({ ...search, paging: { pageSize: 1000, after } })
    .expect(200)
  const clients = body.map(({ client }: { client: { id: string } }) => client.id)
  expect(new Set(clients)).toEqual(new Set([stranger.client]))
  expect((await stranger.get('/clients?query=Hidden').expect(200)).headers['x-total-count']).toBe('0')
})
