import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { serviceClient } from '@sluice/client'
import { identityOperations, type Role } from '@sluice/contracts'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

const { account } = identityOperations
const asOwner = ({ token }: Person) => serviceClient({ baseUrl: service.identity.url, token: () => token })
const somebody = async (roles: Role[]) => service.identity.person((await service.identity.client()).id, roles)

async function apiToken(person: Person, roles: Role[]) {
  const expires = new Date(Date.now() + 3_600_000).toISOString()
  const { password } = service.identity
  const body = { name: 'Test', roles, expires, password }
  const { id, token } = await asOwner(person).call(account.createApiToken, { body })
  return { id, token }
}

it('an API token allows only what its own roles permit', async () => {
  const person = await somebody(['ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'])
  const [sees, other, none] = [
    await apiToken(person, ['ROLE_SEE_DATA_PIPELINE']),
    await apiToken(person, ['ROLE_SEE_VIEW']),
    await apiToken(person, []),
  ]
  await service.as(sees).get('/data-pipelines').expect(200)
  await service.as(sees).post('/data-pipelines').send({}).expect(403)
  for (const token of [other, none]) await service.as(token).get('/data-pipelines').expect(403)
  await service
    .as({ token: `${sees.token.slice(0, -1)}~` })
    .get('/data-pipelines')
    .expect(401)
})

it('a deleted API token is rejected within ten seconds; another token of the same user keeps working', async () => {
  const person = await somebody(['ROLE_SEE_DATA_PIPELINE'])
  const [deleted, kept] = [
    await apiToken(person, ['ROLE_SEE_DATA_PIPELINE']),
    await apiToken(person, ['ROLE_SEE_DATA_PIPELINE']),
  ]
  const asked = async ({ token }: { token: string }) => (await service.as({ token }).get('/data-pipelines')).status
  expect([await asked(deleted), await asked(kept)]).toEqual([200, 200])

  const since = Date.now()
  await asOwner(person).call(account.deleteApiToken, { params: { uid: deleted.id } })
  expect(await lastOtherAnswerMs(() => asked(deleted), 401, since)).toBeLessThan(10_000)
  expect(await asked(kept)).toBe(200)
  expect(service.log()).not.toContain(deleted.token)
  expect(service.identity.log()).not.toContain(deleted.token)
})
