import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'] as const

let service: Service
let client: string
let owner: Asking
let friend: Person
let schema: string
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, [...roles]))
  friend = await service.identity.person(client, [...roles])
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const bodies = { schemas: () => schemaBody(), 'data-pipelines': () => pipelineBody(schema) }
const grants = (access: object) => ({ publicAccess: 'NONE', userAccess: [], userGroupAccess: [], ...access })

describe.each(Object.entries(bodies))('%s', (noun, bodyOf) => {
  let one: string
  beforeAll(async () => {
    const { body } = await owner.post(`/${noun}`).send(bodyOf()).expect(201)
    expect(body.access).toEqual({ ...grants({}), accessLevel: 'PRIVATE', hasPublicAccess: false })
    one = `/${noun}/${body.id}`
  })

  const share = async (access: object) => (await owner.put(`${one}/access`).send(grants(access)).expect(200)).body[0]
  /** Reading, and the three ways of writing, with a version that is never right. */
  const tried = async (person: Person) => {
    const asking = service.as(person)
    const { body } = await owner.get(one).expect(200)
    const stale = (method: 'put' | 'delete', path = one) => asking[method](path).set('If-Match', '"999"')
    const answers = [
      await asking.get(one),
      await stale('put').send(body),
      await stale('put', `${one}/access`).send(grants({})),
      await stale('delete'),
    ]
    const { body: all } = await asking.get(`/${noun}?filter=id:eq:${body.id}`).expect(200)
    return [all.length, ...answers.map(({ status }) => status)]
  }
  const hidden = [0, 404, 404, 404, 404]
  const readable = [1, 200, 403, 403, 403]
  const writable = [1, 200, 412, 412, 412]

  it('are private at first, and can be shared with a user for reading and writing', async () => {
    expect(await tried(friend)).toEqual(hidden)
    const unnamed = grants({ userAccess: [{ access: 'READ' }] })
    expect((await owner.put(`${one}/access`).send(unnamed).expect(400)).body.errors).toEqual([
      { pointer: '/userAccess/0/id', detail: 'is required: it identifies the user or group' },
    ])
    const read = await share({ userAccess: [{ id: friend.id }] })
    expect(read.access).toMatchObject({ accessLevel: 'SHARED', userAccess: [{ id: friend.id, access: 'READ' }] })
    expect(await tried(friend)).toEqual(readable)
    await share({ userAccess: [{ id: friend.id.toUpperCase(), access: 'READ_WRITE' }] })
    expect(await tried(friend)).toEqual(writable)
    await share({})
    expect(await tried(friend)).toEqual(hidden)
  })

  it('can be shared with the whole organisation, but not with another organisation', async () => {
    const { id: elsewhere } = await service.identity.client()
    const stranger = await service.identity.person(elsewhere, [...roles])
    const read = await share({ publicAccess: 'READ' })
    expect(read.access).toMatchObject({ accessLevel: 'PUBLIC', hasPublicAccess: true })
    expect(await tried(friend)).toEqual(readable)
    await share({ publicAccess: 'READ_WRITE' })
    expect(await tried(friend)).toEqual(writable)
    expect(await tried(stranger)).toEqual(hidden)
    await share({})
  })

  it('can be shared with groups', async () => {
    const member = await service.identity.person(client, [...roles])
    const group = await service.identity.group(client, [member])
    await share({ userGroupAccess: [{ id: group, access: 'READ' }] })
    expect(await tried(member)).toEqual(readable)
    expect(await tried(friend)).toEqual(hidden)
    await share({ userGroupAccess: [{ id: group.toUpperCase(), access: 'READ_WRITE' }] })
    expect(await tried(member)).toEqual(writable)
    await share({})
  })

  it('are writable for a super admin of the organisation', async () => {
    const admin = await service.identity.person(client, ['ROLE_SUPER_ADMIN'])
    expect(await tried(admin)).toEqual(writable)
  })

  it('cannot be changed by a user with write access who has only the roles to see them', async () => {
    const viewer = service.as(await service.identity.person(client, ['ROLE_SEE_SCHEMA', 'ROLE_SEE_DATA_PIPELINE']))
    await share({ publicAccess: 'READ_WRITE' })
    const { body } = await viewer.get(one).expect(200)
    await viewer.put(one).send(body).expect(403)
    await share({})
  })

  it('cannot be shared with users and groups that the organisation does not have', async () => {
    const { id: elsewhere } = await service.identity.client()
    const stranger = await service.identity.person(elsewhere, [])
    const strangers = await service.identity.group(elsewhere, [stranger])
    const fine = { id: friend.id, access: 'READ' }
    for (const id of [stranger.id, randomUUID()]) {
      const access = grants({ userAccess: [fine, { id, access: 'READ' }] })
      const detail = `Your organisation has no user with the id ${id}. Correct the id.`
      const { body } = await owner.put(`${one}/access`).send(access).expect(422)
      expect(body).toMatchObject({ code: 'refused', errors: [{ pointer: '/userAccess/1/id', detail }] })
      // Inside a body, the pointer leads through the field that the access stands in.
      const made = await owner
        .post(`/${noun}`)
        .send({ ...bodyOf(), access })
        .expect(422)
      expect(made.body.errors).toEqual([{ pointer: '/access/userAccess/1/id', detail }])
    }
    for (const id of [strangers, friend.id]) {
      const access = grants({ userGroupAccess: [{ id, access: 'READ' }] })
      const { body } = await owner.put(`${one}/access`).send(access).expect(422)
      expect(body.errors[0].pointer).toBe('/userGroupAccess/0/id')
    }
    expect((await owner.get(one)).body.access.accessLevel).toBe('PRIVATE')
  })
})

describe('an outage of the identity service', () => {
  it('allows reading and saving; sharing with an unknown user gives 503', async () => {
    const newcomer = await service.identity.person(client, [])
    await owner.get('/schemas').expect(200)
    await service.identityGate.shut()
    const { body } = await owner.get(`/schemas/${schema}`).expect(200)
    await owner
      .put(`/schemas/${schema}`)
      .send({ ...body, description: 'Still here.' })
      .expect(200)
    const answer = await owner
      .put(`/schemas/${schema}/access`)
      .send(grants({ userAccess: [{ id: newcomer.id, access: 'READ' }] }))
      .expect(503)
    expect(answer.body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('identity service') })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    await service.as(newcomer).get('/schemas').expect(503)
    await service.identityGate.open()
  })
})
