import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { createUserWithTicket, requestTicket } from '../enrol-second-factor.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const login = (username: string, address: string, password = 'not-the-right-one') =>
  service.http.post('/api/v1/auth/login').set('x-forwarded-for', address).send({ username, password })
const complete = (ticket: string, code: string, address: string) =>
  service.http.post('/api/v1/auth/login/code').set('x-forwarded-for', address).send({ ticket, code })
const countStatuses = (answers: { status: number }[]) =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status }) => status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  )
const endWaits = () => sql`update sign_in_attempts set blocked_until = now() - interval '1 second'`.execute(service.db)
/** Without this, waits could end during a test on a slow machine. */
const extendWaits = () =>
  sql`update sign_in_attempts set blocked_until = now() + interval '1 hour' where blocked_until > now()`.execute(
    service.db,
  )
const createUser = async () => (await service.user({ client: await service.client() })).username
/** Codes that are not valid at any time. */
const wrongCodes = (count: number) =>
  Array.from({ length: count }, (_, index) => `wrong-${String(index).padStart(3, '0')}`)

describe('password guesses', () => {
  it('for one account are limited to five of a hundred concurrent ones from many networks', async () => {
    const username = await createUser()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => login(username, `198.51.${index}.7`)))
    expect(countStatuses(answers)).toEqual({ 401: 5, 429: 95 })
  })

  it('from one network are limited to a hundred for a thousand accounts', async () => {
    const answers = []
    for (let batch = 0; batch < 20; batch++) {
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, (_, index) => login(`sprayed-${batch}-${index}`, `192.0.2.${index}`)),
        )),
      )
      await extendWaits()
    }
    expect(countStatuses(answers)).toEqual({ 401: 100, 429: 900 })
  })

  it('from other networks do not lock a user out of a network of an earlier sign-in', async () => {
    const username = await createUser()
    await login(username, '203.0.113.20', goodPassword).expect(200)
    for (let network = 0; network < 8; network++) await login(username, `192.1.${network}.1`)
    await login(username, '192.1.9.9', goodPassword).expect(429)
    await login(username, '203.0.113.99', goodPassword).expect(200)
  })
})

describe('guesses of second-factor codes', () => {
  const unknownAddress = '198.18.0.1'

  it('are limited to five of fifty concurrent ones with several tickets from many networks', async () => {
    const { person } = await createUserWithTicket(service)
    const tickets = await Promise.all(Array.from({ length: 5 }, () => requestTicket(service, person)))
    const answers = await Promise.all(
      wrongCodes(50).map((code, index) => complete(tickets[index % 5]!, code, `198.19.${index}.1`)),
    )
    expect(countStatuses(answers)).toEqual({ 401: 5, 429: 45 })
    expect(Number(answers.find(({ status }) => status === 429)!.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('cause a wait that grows up to an hour and applies to the right code too', async () => {
    const { person, ticket, code } = await createUserWithTicket(service)
    for (const wrong of wrongCodes(5)) await complete(ticket, wrong, unknownAddress).expect(401)
    const first = Number((await complete(ticket, code(), unknownAddress).expect(429)).headers['retry-after'])
    const waits = []
    for (const wrong of wrongCodes(9)) {
      await endWaits()
      await complete(ticket, wrong, unknownAddress).expect(401)
      waits.push(Number((await complete(ticket, wrong, unknownAddress).expect(429)).headers['retry-after']))
    }
    expect(first).toBeLessThanOrEqual(30)
    expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    expect(Math.max(...waits)).toBeGreaterThan(3_500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_600)
    await endWaits()
    await complete(ticket, code(), unknownAddress).expect(200)
    for (const wrong of wrongCodes(5))
      await complete(await requestTicket(service, person), wrong, unknownAddress).expect(401)
  })

  it('and password guesses are counted separately', async () => {
    const { person, ticket, code } = await createUserWithTicket(service)
    for (let attempt = 0; attempt < 6; attempt++) await login(person.username, unknownAddress)
    await login(person.username, unknownAddress, goodPassword).expect(429)
    await complete(ticket, code(), unknownAddress).expect(200)

    const other = await createUserWithTicket(service)
    for (const wrong of wrongCodes(6)) await complete(other.ticket, wrong, unknownAddress)
    await complete(other.ticket, other.code(), unknownAddress).expect(429)
    await login(other.person.username, unknownAddress, goodPassword).expect(200)
  })

  it('by someone with the password do not lock the user out of a network of an earlier sign-in', async () => {
    const { ticket, code } = await createUserWithTicket(service)
    for (const wrong of wrongCodes(6)) await complete(ticket, wrong, unknownAddress)
    await complete(ticket, code(), unknownAddress).expect(429)
    // From the network in which `createUserWithTicket` signed in.
    await service.http.post('/api/v1/auth/login/code').send({ ticket, code: code() }).expect(200)
  })
})
