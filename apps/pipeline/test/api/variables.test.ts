import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { readVariables } from '../../src/variables/variables.ts'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let person: Person
let owner: Asking
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_VARIABLE'])
  owner = service.as(person)
})
afterAll(() => service?.stop())

const body = (changes: object = {}) => ({
  name: `VARIABLE_${randomBytes(6).toString('hex')}`,
  secured: false,
  value: 'in the clear',
  ...changes,
})
const create = async (changes: object = {}) => (await owner.post('/variables').send(body(changes)).expect(201)).body
const opened = async (client = person.client) =>
  readVariables(service.stack.db, client, keyRing(service.environment['SECRET_KEYS']!))

describe('variables', () => {
  it('return all sent fields, and accept in PUT the body of GET', async () => {
    const translations = [{ locale: 'fr', property: 'name', value: 'Année' }]
    const sent = body({ translations })
    const made = await owner.post('/variables').send(sent).expect(201)
    expect(made.body).toMatchObject({ ...sent, client: person.client, createdBy: person.username })
    expect(made.headers).toMatchObject({ location: `/api/v1/variables/${made.body.id}`, etag: '"1"' })
    const read = await owner.get(`/variables/${made.body.id}`).set('Accept-Language', 'fr').expect(200)
    expect(read.body).toEqual({ ...made.body, displayName: 'Année' })
    const put = await owner.put(`/variables/${made.body.id}`).set('If-Match', '"1"').send(read.body).expect(200)
    expect(put.body).toMatchObject(sent)
    expect(put.headers['etag']).toBe('"2"')
    await owner.put(`/variables/${made.body.id}`).set('If-Match', '"1"').send(read.body).expect(412)
    await owner.delete(`/variables/${made.body.id}`).expect(204)
    await owner.get(`/variables/${made.body.id}`).expect(404)
  })

  it('do not return a secured value, and keep it if none is sent', async () => {
    const value = `hush ${randomBytes(9).toString('hex')}`
    const made = await create({ secured: true, value })
    expect(made).not.toHaveProperty('value')
    for (const answer of [
      await owner.get(`/variables/${made.id}`),
      await owner.get(`/variables?filter=name:eq:${made.name}`),
      await owner.put(`/variables/${made.id}`).send(made).expect(200),
      await owner.put('/variables').send([made]).expect(200),
    ])
      expect([answer.text.includes(made.id), answer.text.includes(value)]).toEqual([true, false])
    expect((await opened()).get(made.name)).toBe(value)
    expect((await opened()).isSecured(made.name)).toBe(true)
    const rows = await service.stack.db.selectFrom('variables').selectAll().where('uid', '=', made.id).execute()
    expect(JSON.stringify(rows)).not.toContain(value)
    expect((await owner.get('/variables?filter=value:ilike:hush').expect(200)).body).toEqual([])
    const named = `filter=name:like:${made.name}`
    const plain = await create({ name: `${made.name} plain`, value: 'a' })
    const later = await create({ name: `${made.name} secured`, secured: true, value: 'b' })
    for (const direction of ['asc', 'desc', 'iasc', 'idesc']) {
      const { body: found } = await owner.get(`/variables?${named}&order=value:${direction}`).expect(200)
      expect((found as { id: string }[]).map(({ id }) => id)).toEqual([plain.id, ...[made.id, later.id].toSorted()])
    }
    expect(service.log()).not.toContain(value)
  })

  it('become unsecured only if the value is sent again', async () => {
    const made = await create({ secured: true, value: 'first' })
    const { body } = await owner
      .put(`/variables/${made.id}`)
      .send({ ...made, secured: false })
      .expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/value',
        detail: 'A secured value cannot be revealed. To make the variable unsecured, enter its value again.',
      },
    ])
    const plain = await owner
      .put(`/variables/${made.id}`)
      .send({ ...made, secured: false, value: 'second' })
      .expect(200)
    expect(plain.body.value).toBe('second')
    const { value: _value, ...again } = plain.body
    await owner
      .put(`/variables/${made.id}`)
      .send({ ...again, secured: true })
      .expect(200)
    expect((await opened()).get(made.name)).toBe('second')
  })

  it('require a value of 1 to 5,000 characters when they are created', async () => {
    const { value: _value, ...without } = body()
    expect((await owner.post('/variables').send(without).expect(400)).body.errors).toEqual([
      { pointer: '/value', detail: 'is required for a new variable' },
    ])
    await owner
      .post('/variables')
      .send(body({ value: '' }))
      .expect(400)
    const { body: problem } = await owner
      .post('/variables')
      .send(body({ value: 'x'.repeat(5001) }))
      .expect(422)
    expect(problem.errors).toEqual([{ pointer: '/value', detail: 'must have at most 5000 characters' }])
    expect(await create({ value: 'x'.repeat(5000) })).toHaveProperty('value')
  })

  it.each(['', ' x', 'x ', 'a{b', 'a}b', 'a\nb', ' '])('refuse the name %j', async (name) => {
    await owner.post('/variables').send(body({ name })).expect(400)
  })

  it('have unique names within their organisation', async () => {
    const { name } = await create()
    expect((await owner.post('/variables').send(body({ name })).expect(409)).body.errors).toEqual([
      { pointer: '/name', detail: 'Another variable has this name.' },
    ])
    const { id } = await service.identity.client()
    const stranger = service.as(await service.identity.person(id, ['ROLE_MANAGE_VARIABLE']))
    await stranger.post('/variables').send(body({ name })).expect(201)
    expect((await stranger.get('/variables').expect(200)).body).toHaveLength(1)
  })
})

describe('the bulk save of variables', () => {
  it('creates new variables, replaces existing ones and returns them in the same order', async () => {
    const known = await create()
    const sent = [body(), { ...body({ value: 'changed' }), name: known.name }]
    const { body: saved } = await owner.put('/variables').send(sent).expect(200)
    expect(saved).toMatchObject(sent)
    expect(saved[1].id).toBe(known.id)
  })

  it('saves nothing if one variable is refused, and names it', async () => {
    const secured = await create({ secured: true })
    const fresh = body()
    const { body: refused } = await owner
      .put('/variables')
      .send([fresh, { ...secured, secured: false }])
      .expect(422)
    expect(refused.errors[0].pointer).toBe('/1/value')
    await owner
      .put('/variables')
      .send([fresh, { name: 'unheard_of', secured: false }])
      .expect(400)
    await owner.put('/variables').send([fresh, fresh]).expect(409)
    expect(
      (
        await owner
          .put('/variables')
          .send([fresh, { ...fresh, colour: 1 }])
          .expect(400)
      ).body.errors[0].pointer,
    ).toBe('/1/colour')
    await owner.put('/variables').send([]).expect(400)
    expect((await owner.get(`/variables?filter=name:eq:${fresh.name}`)).body).toEqual([])
  })

  it('accepts two concurrent requests for the same names in different order', async () => {
    const names = ['b', 'a', 'c'].map((letter) => `${letter}_${randomBytes(6).toString('hex')}`)
    const both = [names, names.toReversed()].map((list) => list.map((name) => body({ name })))
    await owner.put('/variables').send(both[0]).expect(200)
    const answers = await Promise.all(both.map((list) => owner.put('/variables').send(list)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })
})

it('a value passed to a run replaces the stored value, and is secured if either of them is secured', async () => {
  const { id } = await service.identity.client()
  const other = service.as(await service.identity.person(id, ['ROLE_MANAGE_VARIABLE']))
  await other
    .put('/variables')
    .send([body({ name: 'a', secured: true }), body({ name: 'b' })])
    .expect(200)
  const ring = keyRing(service.environment['SECRET_KEYS']!)
  const variables = await readVariables(service.stack.db, id, ring, [
    { name: 'a', value: 'given 1' },
    { name: 'c', value: 'given 2', secured: true },
  ])
  expect([...variables].toSorted()).toEqual([
    ['a', 'given 1'],
    ['b', 'in the clear'],
    ['c', 'given 2'],
  ])
  expect(variables.securedValues).toEqual(['given 1', 'given 2'])
})
