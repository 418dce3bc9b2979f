import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { halfSignedIn, ticketOf } from '../enrol-second-factor.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const login = (username: string, from: string, password = 'not-the-right-one') =>
  service.http.post('/api/v1/auth/login').set('x-forwarded-for', from).send({ username, password })
const complete = (ticket: string, code: string, from: string) =>
  service.http.post('/api/v1/auth/login/code').set('x-forwarded-for', from).send({ ticket, code })
const statuses = (answers: { status: number }[]) =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status }) => status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  )
const waitIsOver = () =>
  sql`update sign_in_attempts set blocked_until = now() - interval '1 second'`.execute(service.db)
/** On a slow machine, waits would end in the middle of a test. */
const extendWaits = () =>
  sql`update sign_in_attempts set blocked_until = now() + interval '1 hour' where blocked_until > now()`.execute(
    service.db,
  )
const someUser = async () => (await service.user({ client: await service.client() })).username
/** No code of any moment of this test. */
const wrongCodes = (many: number) => Array.from({ length: many }, (_, at) => `wrong-${String(at).padStart(3, '0')}`)

describe('passwords', () => {
  it('of one account are tried five times, of a hundred that come at once from everywhere', async () => {
    const username = await someUser()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => login(username, `198.51.${at}.7`)))
    expect(statuses(answers)).toEqual({ 401: 5, 429: 95 })
  })

  it('of a thousand accounts are tried a hundred times from one network', async () => {
    const answers = []
    for (let batch = 0; batch < 20; batch++) {
      answers.push(
        ...(await Promise.all(Array.from({ length: 50 }, (_, at) => login(`sprayed-${batch}-${at}`, `192.0.2.${at}`)))),
      )
      await extendWaits()
    }
    expect(statuses(answers)).toEqual({ 401: 100, 429: 900 })
  })

  it('that strangers guess do not keep out whoever comes from where they signed in before', async () => {
    const username = await someUser()
    await login(username, '203.0.113.20', goodPassword).expect(200)
    for (let at = 0; at < 8; at++) await login(username, `192.1.${at}.1`)
    await login(username, '192.1.9.9', goodPassword).expect(429)
    await login(username, '203.0.113.99', goodPassword).expect(200)
  })
})

describe('codes of a second factor', () => {
  const strange = '198.18.0.1'

  it('are tried five times, of fifty that come at once with many tickets from everywhere', async () => {
    const { person } = await halfSignedIn(service)
    const tickets = await Promise.all(Array.from({ length: 5 }, () => ticketOf(service, person)))
    const answers = await Promise.all(
      wrongCodes(50).map((code, at) => complete(tickets[at % 5]!, code, `198.19.${at}.1`)),
    )
    expect(statuses(answers)).toEqual({ 401: 5, 429: 45 })
    expect(Number(answers.find(({ status }) => status === 429)!.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('that are right wait like any other while there is a wait, and the wait grows up to an hour', async () => {
    const { person, ticket, code } = await halfSignedIn(service)
    for (const wrong of wrongCodes(5)) await complete(ticket, wrong, strange).expect(401)
    const first = Number((await complete(ticket, code(), strange).expect(429)).headers['retry-after'])
    const waits = []
    for (const wrong of wrongCodes(9)) {
      await waitIsOver()
      await complete(ticket, wrong, strange).expect(401)
      waits.push(Number((await complete(ticket, wrong, strange).expect(429)).headers['retry-after']))
    }
    expect(first).toBeLessThanOrEqual(30)
    expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    expect(Math.max(...waits)).toBeGreaterThan(3_500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_600)
    await waitIsOver()
    await complete(ticket, code(), strange).expect(200)
    for (const wrong of wrongCodes(5)) await complete(await ticketOf(service, person), wrong, strange).expect(401)
  })

  it('and passwords are counted apart: neither uses up the tries of the other', async () => {
    const { person, ticket, code } = await halfSignedIn(service)
    for (let at = 0; at < 6; at++) await login(person.username, strange)
    await login(person.username, strange, goodPassword).expect(429)
    await complete(ticket, code(), strange).expect(200)

    const other = await halfSignedIn(service)
    for (const wrong of wrongCodes(6)) await complete(other.ticket, wrong, strange)
    await complete(other.ticket, other.code(), strange).expect(429)
    await login(other.person.username, strange, goodPassword).expect(200)
  })

  it('that a stranger with the password guesses do not keep out whoever comes from where they signed in before', async () => {
    const { ticket, code } = await halfSignedIn(service)
    for (const wrong of wrongCodes(6)) await complete(ticket, wrong, strange)
    await complete(ticket, code(), strange).expect(429)
    // Where `halfSignedIn` signed in first.
    await service.http.post('/api/v1/auth/login/code').send({ ticket, code: code() }).expect(200)
  })
})
