import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { serviceClient } from '@sluice/client'
import { identityOperations, pipelineOperations, type Role, type OperationSignature } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { schemaBody, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

const signatures = Object.values(pipelineOperations)
  .flatMap((noun): OperationSignature[] => Object.values(noun))
  .filter(({ guard }) => guard !== 'anyone')
const uid = '2f1c8f0e-5f0b-4c7e-9b44-0d9c7e1f5a10'
const everything: Role[] = ['ROLE_SUPER_ADMIN']

const identityOf = ({ token }: Person) => serviceClient({ baseUrl: service.identity.url, token: () => token })

describe('an organisation whose pipelines are switched off', () => {
  it('gets 403 with the reason for every operation, also as a super admin', async () => {
    const client = await service.identity.client({ pipelinesEnabled: false })
    const people = [
      await service.identity.person(client.id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']),
      await service.identity.person(client.id, everything),
    ]
    for (const { method, path, body } of signatures)
      for (const person of people) {
        const asked = service.as(person)[method](path.replaceAll(/:\w+/g, uid))
        const answer = await (body ? asked.send({}) : asked)
        expect([method, path, answer.status, answer.body.detail]).toEqual([
          method,
          path,
          403,
          'Data pipelines are switched off for your organisation. Ask a super admin to enable them.',
        ])
      }
  })

  it('has access again within ten seconds after its super admin switches pipelines on', async () => {
    const client = await service.identity.client({ pipelinesEnabled: false })
    const admin = await service.identity.person(client.id, everything)
    await service.as(admin).get('/schemas').expect(403)
    await identityOf(admin).call(identityOperations.clients.update, {
      params: { uid: client.id },
      body: { ...client, pipelinesEnabled: true },
    })
    const status = async () => (await service.as(admin).get('/schemas')).status
    expect(await lastOtherAnswerMs(status, 200)).toBeLessThan(10_000)
  })

  it('is not refused if only its other services are switched off', async () => {
    const client = await service.identity.client({ managerEnabled: false, routesEnabled: false })
    const person = await service.identity.person(client.id, ['ROLE_SEE_SCHEMA'])
    await service.as(person).get('/schemas').expect(200)
  })
})

describe('a super admin who switches organisations', () => {
  it('reads and writes data of the new organisation from the next request on, and can switch back', async () => {
    const own = await service.identity.client()
    const other = await service.identity.client()
    const admin = await service.identity.person(own.id, everything)
    const member = await service.identity.person(other.id, ['ROLE_MANAGE_SCHEMA', 'ROLE_SEE_SCHEMA'])
    const theirs = schemaBody({ name: 'Theirs' })
    await service.as(member).post('/schemas').send(theirs).expect(201)
    const names = async () => (await service.as(admin).get('/schemas').expect(200)).body.map((one: any) => one.name)
    expect(await names()).toEqual([])

    const enter = (clientId: string) =>
      identityOf(admin).call(identityOperations.session.switchClient, { body: { clientId } })
    for (let round = 0; round < 5; round += 1) {
      await enter(other.id)
      const { body } = await service
        .as(admin)
        .post('/schemas')
        .send(schemaBody({ name: `From outside ${round}` }))
        .expect(201)
      expect(await names()).toHaveLength(2 + round)
      await service.as(member).get(`/schemas/${body.id}`).expect(404)
      await enter(own.id)
      expect(await names()).toEqual([])
    }
  })

  it('gets 503 and writes nothing into the previous organisation while the identity service is down', async () => {
    const own = await service.identity.client()
    const other = await service.identity.client()
    const admin = await service.identity.person(own.id, everything)
    const member = await service.identity.person(own.id, ['ROLE_SEE_SCHEMA', 'ROLE_MANAGE_SCHEMA'])
    await service.as(admin).get('/schemas').expect(200)
    await service.as(member).get('/schemas').expect(200)
    await identityOf(admin).call(identityOperations.session.switchClient, { body: { clientId: other.id } })
    await service.identityGate.shut()
    try {
      const { body } = await service.as(admin).post('/schemas').send(schemaBody()).expect(503)
      expect(body.code).toBe('unavailable')
      // Those who cannot switch go on with what is remembered.
      await service.as(member).get('/schemas').expect(200)
    } finally {
      await service.identityGate.open()
    }
    await until(async () => (await service.as(admin).get('/schemas')).status === 200, { within: 15_000, every: 200 })
  })

  it('is signed out when the role is granted: the old token gets 401', async () => {
    const client = await service.identity.client()
    const person = await service.identity.person(client.id, ['ROLE_SEE_SCHEMA'])
    await service.as(person).get('/schemas').expect(200)
    const admin = serviceClient({ baseUrl: service.identity.url, token: () => service.identity.adminToken })
    const user = await admin.call(identityOperations.users.read, { params: { uid: person.id } })
    await admin.call(identityOperations.users.update, {
      params: { uid: person.id },
      body: { ...user, auths: everything },
    })
    const { identity } = service
    const asked = fetch(`${identity.url}/api/v1/session`, { headers: { authorization: `Bearer ${person.token}` } })
    expect((await asked).status).toBe(401)
  })
})
