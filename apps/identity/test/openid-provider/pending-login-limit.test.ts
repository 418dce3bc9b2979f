import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())

it('a network is limited to 300 pending sign-ins, and other networks are not affected', async () => {
  const { url } = await party.begin()
  const begin = (address: string) => service.http.get(url.pathname + url.search).set('x-forwarded-for', address)
  const countPending = async () =>
    (await sql`select from oidc_models where model = 'Interaction'`.execute(service.db)).rows.length
  for (let batch = 0; batch < 15; batch++) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => begin('192.0.2.7')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 303))
  }
  const before = await countPending()
  expect(before).toBeGreaterThanOrEqual(300)
  const refused = await begin('192.0.2.200')
  expect([refused.status, refused.type]).toEqual([429, 'text/html'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(await countPending()).toBe(before)
  await begin('198.51.100.1').expect(303)
})

it('completed sign-ins and other requests do not count as pending', async () => {
  const user = await party.user()
  const { browser } = await party.signIn(user.username)
  for (let again = 0; again < 310; again++) {
    const { url } = await party.begin({ prompt: 'none' })
    const page = await browser.open(url)
    expect(page.url.searchParams.get('code')).toBeTruthy()
  }
  for (let again = 0; again < 310; again++) await service.http.get('/oidc/auth?client_id=nobody').expect(400)
  await party.signIn((await party.user()).username)
})
