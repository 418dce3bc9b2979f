import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Service } from './app-under-test.ts'

/** Milliseconds: see http-identity-lookups.ts. */
const standingIsFresh = 5_000

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

const somebody = async (changes = {}) => {
  const client = await service.identity.client(changes)
  return { client, person: await service.identity.person(client.id, ['ROLE_SEE_SCHEMA']) }
}
const asked = (person: Person) => service.as(person).get('/schemas')

describe('a user whose principal is cached', () => {
  it('is refused within ten seconds after the user or organisation is deactivated or pipelines are switched off', async () => {
    const { identity } = service
    const [disabled, deactivated, unswitched, staying] = await Promise.all([
      somebody(),
      somebody(),
      somebody(),
      somebody(),
    ])
    const all = [disabled, deactivated, unswitched, staying]
    for (const { person } of all) await asked(person).expect(200)

    const since = Date.now()
    await identity.changeClient(disabled.client, { disabled: true })
    await identity.deactivate(deactivated.person)
    await identity.changeClient(unswitched.client, { pipelinesEnabled: false })
    const statuses = () => Promise.all(all.map(async ({ person }) => (await asked(person)).status))
    const asText = async () => String(await statuses())
    expect(await lastOtherAnswerMs(asText, '401,401,403,200', since)).toBeLessThan(10_000)

    const { body } = await asked(disabled.person).expect(401)
    expect(body).toMatchObject({
      code: 'unauthenticated',
      detail: 'This session, token or application has ended. Sign in again.',
    })
    const off = await asked(unswitched.person).expect(403)
    expect(off.body.detail).toBe(
      'Data pipelines are switched off for your organisation. Ask a super admin to enable them.',
    )
  })

  it('is refused at the first request if pipelines are already switched off', async () => {
    const { person } = await somebody({ pipelinesEnabled: false })
    await asked(person).expect(403)
  })
})

describe('an outage of the identity service', () => {
  it('does not affect cached users, gives 503 to others, and needs no restart after it', async () => {
    const { person } = await somebody()
    const { person: newcomer } = await somebody()
    await asked(person).expect(200)
    await service.identityGate.shut()
    const restarted = await service.serve()
    try {
      const { body, headers } = await asked(newcomer).expect(503)
      expect(body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('identity service') })
      expect(headers['retry-after']).toBe('5')
      // A service that was just started knows not even the keys.
      await service.as(person, restarted.http).get('/schemas').expect(503)
      await service.http.get('/api/v1/schemas').expect(401)
      await sleep(standingIsFresh + 500)
      await asked(person).expect(200)

      await service.identityGate.open()
      const back = async () => (await asked(newcomer)).status === 200
      await until(back, { every: 100 })
      await until(async () => (await service.as(person, restarted.http).get('/schemas')).status === 200)
    } finally {
      await restarted.close()
    }
  })
})
