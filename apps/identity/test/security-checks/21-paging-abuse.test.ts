import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

it.each(['0', '-1', '1001', '1e9', '1000000000', '10; drop', 'NaN', '', '1.5', '0x10', 'Infinity'])(
  'the query parameter pageSize=%s is refused',
  async (pageSize) => {
    await admin.get(`/users?pageSize=${encodeURIComponent(pageSize)}`).expect(400)
  },
)

it.each([
  [0, 400],
  [-1, 400],
  [1.5, 400],
  ['10', 400],
  [1001, 422],
  [Number.MAX_SAFE_INTEGER, 422],
])('the pageSize %j in the body of a search is refused with %i', async (pageSize, status) => {
  await admin.post('/users/search').send({ paging: { pageSize } }).expect(status)
})

it.each(['0', '-1', 'NaN', '2; select 1', '9'.repeat(40), '1.5'])(
  'the query parameter page=%s is refused',
  async (page) => {
    await admin.get(`/users?page=${encodeURIComponent(page)}`).expect(400)
  },
)

it('a page beyond row 100,000 is refused with a hint at the alternatives', async () => {
  await admin.get('/users?page=1000000000').expect(400)
  const { body } = await admin.get('/users?page=102&pageSize=1000').expect(400)
  expect(body.detail).toMatch(/filter|cursor|after/i)
  await admin.get('/users?page=100&pageSize=1000').expect(200)
})

it('a page beyond the end has no rows and the right total', async () => {
  const { headers, body } = await admin.get('/users?page=50').expect(200)
  expect([body, headers['x-total-count']]).toEqual([[], '1'])
})

it('a search with paging: false returns at most 1,000 rows', async () => {
  await sql`
    insert into users (client, name, username, username_skeleton, email, roles, status, start_page, sso_auth)
    select client, name, 'paged-' || n, 'paged-' || n, email, '{}', 'ACTIVE', start_page, true
    from users, generate_series(1, 1000) as n where uid = ${admin.uid}`.execute(service.db)
  const { body, headers } = await admin
    .post('/users/search')
    .send({ paging: { paging: false } })
    .expect(200)
  expect([body.length, headers['x-page-size'], headers['x-total-count']]).toEqual([1000, '1000', '1001'])
})

it('a search without the property paging is refused', async () => {
  await admin.post('/users/search').send({}).expect(400)
})
