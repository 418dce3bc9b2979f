import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startService, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

it.each(['0', '-1', '1001', '1e9', '1000000000', '10; drop', 'NaN', '', '1.5', '0x10', 'Infinity'])(
  'pageSize %s is refused, by GET and by POST',
  async (pageSize) => {
    await admin.get(`/users?pageSize=${encodeURIComponent(pageSize)}`).expect(400)
    await admin.post('/users/search').send({ paging: { pageSize } }).expect(400)
  },
)

it.each(['0', '-1', 'NaN', '2; select 1', '9'.repeat(40), '1.5'])('page %s is refused', async (page) => {
  await admin.get(`/users?page=${encodeURIComponent(page)}`).expect(400)
})

it('refuses pages beyond row 100,000 and names the alternatives', async () => {
  await admin.get('/users?page=1000000000').expect(400)
  const { body } = await admin.get('/users?page=102&pageSize=1000').expect(400)
  expect(body.detail).toMatch(/filter|cursor|after/i)
  await admin.get('/users?page=100&pageSize=1000').expect(200)
})

it('returns no rows and the true total for a page beyond the end', async () => {
  const { headers, body } = await admin.get('/users?page=50').expect(200)
  expect([body, headers['x-total-count']]).toEqual([[], '1'])
})

it('refuses or limits searches without paging and with an excessive page size', async () => {
  await service.client()
  const all = await admin.post('/users/search').send({ paging: { paging: false } })
  expect([200, 400]).toContain(all.status)
  if (all.status === 200) expect(Number(all.headers['x-page-size'])).toBeLessThanOrEqual(1000)
  await admin
    .post('/users/search')
    .send({ paging: { pageSize: Number.MAX_SAFE_INTEGER } })
    .expect(422)
  await admin.post('/users/search').send({}).expect(400)
})
