import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readAlertSetting, readSetting } from '../../src/organisation-settings.ts'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let person: Person
let owner: Asking
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SETTING', 'ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
})
afterAll(() => service?.stop())

const put = (key: string, value: unknown, more: object = {}) => owner.put(`/settings/${key}`).send({ value, ...more })

describe('settings', () => {
  it('have default values, and are all listed', async () => {
    const { client } = person
    const defaults = {
      ALERT_EMAIL: '',
      DEFAULT_ACCESS_LEVEL: 'PRIVATE',
      DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: 'CLEAN_UP',
      RETAIN_TEMP_FILES: 'false',
      THEME: '',
    }
    const expected = Object.entries(defaults).map(([key, value]) => ({ client, key, value }))
    expect((await owner.get('/settings').expect(200)).body).toEqual(expected)
    const { body, headers } = await owner.get('/settings/THEME').expect(200)
    expect([body, headers['etag']]).toEqual([expected[4], '"0"'])
  })

  it('accept in PUT the body of GET, and increment their version', async () => {
    const read = await owner.get('/settings/THEME').expect(200)
    const first = await put('THEME', 'dark-2', read.body.id).set('If-Match', '"0"').expect(200)
    expect(first.body).toMatchObject({ key: 'THEME', value: 'dark-2', id: expect.any(String), client: person.client })
    const second = await owner.put('/settings/THEME').set('If-Match', '"1"').send(first.body).expect(200)
    expect(second.headers['etag']).toBe('"2"')
    expect((await owner.get('/settings/THEME').expect(200)).body).toEqual(second.body)
    await put('THEME', 'light').set('If-Match', '"1"').expect(412)
    const settings = (await owner.get('/settings').expect(200)).body as { key: string }[]
    expect(settings.find(({ key }) => key === 'THEME')).toEqual(second.body)
  })

  it.each([
    ['ALERT_EMAIL', 'a@example.org; b@example.org'],
    ['ALERT_EMAIL', 'a@example.org,,b@example.org'],
    ['ALERT_EMAIL', 'nobody'],
    ['ALERT_EMAIL', 'WARNING'],
    ['ALERT_EMAIL', 'a@example.org,NO_SUCCESS_0_HOURS'],
    ['ALERT_EMAIL', 'a@example.org,NO_SUCCESS_8761_HOURS'],
    ['ALERT_EMAIL', 'a@example.org,NO_SUCCESS_HOURS'],
    ['ALERT_EMAIL', 'a@example.org,'],
    ['ALERT_EMAIL', 'a@example.org\r\nBcc: all@example.org'],
    ['DEFAULT_ACCESS_LEVEL', 'public'],
    ['DEFAULT_ACCESS_LEVEL', ''],
    ['DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES', 'KEEP'],
    ['RETAIN_TEMP_FILES', 'yes'],
    ['THEME', '<script>'],
  ])('refuse %s = %j', async (key, value) => {
    const { body } = await put(key, value).expect(422)
    expect(body.errors).toMatchObject([{ pointer: '/value', detail: expect.stringMatching(/\.$/) }])
  })

  it('normalise lists of addresses', async () => {
    const { body } = await put('ALERT_EMAIL', ' a@example.org , b@example.org,a@example.org').expect(200)
    expect(body.value).toBe('a@example.org,b@example.org')
    const { addresses } = await readAlertSetting(service.stack.db, person.client)
    expect(addresses).toEqual(['a@example.org', 'b@example.org'])
    await put('ALERT_EMAIL', '').expect(200)
    expect(await readAlertSetting(service.stack.db, person.client)).toEqual({ addresses: [], warnings: false })
  })

  it('accept addresses with an international domain unchanged', async () => {
    const { body } = await put('ALERT_EMAIL', 'a@müller.example,b@हिन्दी.example').expect(200)
    expect(body.value).toBe('a@müller.example,b@हिन्दी.example')
  })

  it.each(['jürgen@example.org', 'a@xn--ü.example', 'a@example.org-', `${'a'.repeat(65)}@example.org`])(
    'refuse the address %s, to which no mail can be sent',
    async (address) => {
      const { body } = await put('ALERT_EMAIL', `a@example.org,${address}`).expect(422)
      expect(body.errors[0].detail).toMatch(/^Mail cannot be sent to "[^"]+": use up to 64 [^.]*\.$/)
    },
  )

  it('store the options WARNING and NO_SUCCESS_n_HOURS with the addresses', async () => {
    const { body } = await put('ALERT_EMAIL', 'no_success_026_hours, a@example.org, warning').expect(200)
    expect(body.value).toBe('a@example.org,WARNING,NO_SUCCESS_26_HOURS')
    expect((await owner.put('/settings/ALERT_EMAIL').send(body).expect(200)).body.value).toBe(body.value)
    const expected = { addresses: ['a@example.org'], warnings: true, noSuccessHours: 26 }
    expect(await readAlertSetting(service.stack.db, person.client)).toEqual(expected)
  })

  it('refuse an unknown key, and a key in the body that differs from the path', async () => {
    await put('COLOUR', 'red').expect(404)
    await owner.get('/settings/toString').expect(404)
    expect((await put('THEME', 'a', { key: 'ALERT_EMAIL' }).expect(422)).body.errors[0].pointer).toBe('/key')
    await put('THEME', 7).expect(400)
  })

  it('are refused if the body names another organisation, unless its lastUpdated is older than the setting', async () => {
    await put('THEME', 'a').expect(200)
    const { body: read } = await owner.get('/settings/THEME').expect(200)
    const { id: client } = await service.identity.client()
    for (const lastUpdated of [undefined, read.lastUpdated]) {
      const { body } = await put('THEME', 'b', { client, lastUpdated }).expect(422)
      expect(body.errors[0].pointer).toBe('/client')
    }
    await put('THEME', 'b', { client, lastUpdated: '2020-01-01T00:00:00.000Z' }).expect(200)
    await put('THEME', 'c', { client: person.client }).expect(200)
  })

  it('are separate for each organisation', async () => {
    await put('RETAIN_TEMP_FILES', 'true').expect(200)
    const { id } = await service.identity.client()
    const stranger = service.as(await service.identity.person(id, ['ROLE_MANAGE_SETTING']))
    expect((await stranger.get('/settings/RETAIN_TEMP_FILES').expect(200)).body.value).toBe('false')
    expect(await readSetting(service.stack.db, person.client, 'RETAIN_TEMP_FILES')).toBe('true')
  })

  it('receive the versions 1 and 2 if the same setting is saved twice at once', async () => {
    const { id } = await service.identity.client()
    const other = service.as(await service.identity.person(id, ['ROLE_MANAGE_SETTING']))
    const both = await Promise.all(['a', 'b'].map((value) => other.put('/settings/THEME').send({ value })))
    expect(both.map(({ headers }) => headers['etag']).toSorted()).toEqual(['"1"', '"2"'])
  })
})

it('DEFAULT_ACCESS_LEVEL sets the access of new objects that are sent without access', async () => {
  const publicAccess = async (access?: object) => {
    const schema = (
      await owner
        .post('/schemas')
        .send(schemaBody(access && { access }))
        .expect(201)
    ).body
    const pipeline = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema.id, access && { access }))
      .expect(201)
    // Replacing it seeds nothing.
    const put = await owner
      .put(`/schemas/${schema.id}`)
      .send({ ...schema, access: undefined })
      .expect(200)
    return [schema, pipeline.body, put.body].map((one) => one.access.publicAccess)
  }
  expect(await publicAccess()).toEqual(['NONE', 'NONE', 'NONE'])
  await put('DEFAULT_ACCESS_LEVEL', 'PUBLIC').expect(200)
  expect(await publicAccess()).toEqual(['READ', 'READ', 'READ'])
  expect(await publicAccess({ publicAccess: 'NONE' })).toEqual(['NONE', 'NONE', 'NONE'])
  await put('DEFAULT_ACCESS_LEVEL', 'PRIVATE').expect(200)
})
