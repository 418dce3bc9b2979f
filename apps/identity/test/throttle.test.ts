import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const login = (username: string, from: string, password = 'not-the-right-one') =>
  service.http.post('/api/v1/auth/login').set('x-forwarded-for', from).send({ username, password })
const statuses = (answers: { status: number }[]) =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status }) => status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  )
const endWaits = () => sql`update sign_in_attempts set blocked_until = now() - interval '1 second'`.execute(service.db)

describe('failed sign-ins', () => {
  it('are checked at most five times, even if they are concurrent', async () => {
    const { username } = await service.user({ client: await service.client() })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => login(username, `198.51.${index}.7`)))
    expect(statuses(answers)).toEqual({ 401: 5, 429: 45 })
    const refused = answers.find(({ status }) => status === 429)!
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.body.code).toBe('too-many-requests')
  })

  it('are limited in the same way for an unknown username', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => login('nobody-here', `198.51.${index}.8`)),
    )
    expect(statuses(answers)).toEqual({ 401: 5, 429: 15 })
  })

  it('write one audit row per account and minute while they are throttled', async () => {
    const { uid, username } = await service.user({ client: await service.client() })
    const waits = async () =>
      (await auditOf(service.db, uid)).filter(({ details }) => details['outcome'] === 'too many tries')
    const many = () => Promise.all(Array.from({ length: 20 }, (_, index) => login(username, `198.51.${index}.9`)))
    await many()
    expect(await waits()).toMatchObject([
      { operation: 'auth.login', actor: uid, details: { outcome: 'too many tries', of: 'account' } },
    ])
    await sql`update sign_in_attempts set last_at = last_at - interval '1 minute' where key like 'noted %'`.execute(
      service.db,
    )
    await sql`update sign_in_attempts set blocked_until = now() + interval '1 minute' where key like 'account:%'`.execute(
      service.db,
    )
    await many()
    expect(await waits()).toHaveLength(2)
    await endWaits()
  })

  it('double the wait with each failure, and a success resets it', async () => {
    const { username } = await service.user({ client: await service.client() })
    const wait = async () => Number((await login(username, '203.0.113.5').expect(429)).headers['retry-after'])
    for (let attempt = 0; attempt < 5; attempt++) await login(username, '203.0.113.5').expect(401)
    expect(await wait()).toBeLessThanOrEqual(5)
    await login(username, '203.0.113.5', goodPassword).expect(429)
    await endWaits()
    await login(username, '203.0.113.5').expect(401)
    expect(await wait()).toBeGreaterThan(5)
    await endWaits()
    await login(username, '203.0.113.5', goodPassword).expect(200)
    for (let attempt = 0; attempt < 5; attempt++) await login(username, '203.0.113.5').expect(401)
  })

  it('from other networks do not lock a user out of a network of an earlier session', async () => {
    const { username } = await service.user({ client: await service.client() })
    await login(username, '203.0.113.20', goodPassword).expect(200)
    for (let network = 0; network < 6; network++) await login(username, `192.0.${network}.1`)
    await login(username, '192.0.2.9', goodPassword).expect(429)
    await login(username, '203.0.113.99', goodPassword).expect(200)
  })

  it('are limited per network if they use many usernames', async () => {
    const answers = []
    for (let batch = 0; batch < 5; batch++)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 22 }, (_, index) => login(`spray-${batch}-${index}`, `203.0.114.${index}`)),
        )),
      )
    expect(statuses(answers)).toEqual({ 401: 100, 429: 10 })
    await login('somebody-else', '203.0.115.1').expect(401)
  })
})
