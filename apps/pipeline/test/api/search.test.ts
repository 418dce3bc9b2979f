import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { dataPipelines } from '../../src/api/data-pipelines/records.ts'
import { schemaRecords } from '../../src/api/schemas/records.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const names = ['Water', 'anaemia', 'Beds', 'births', 'Ärzte', 'Cases_1', 'Cases%2', 'measles', 'Malaria', 'zinc']

let service: Service
let owner: Asking
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  const made: string[] = []
  for (const name of names) {
    const description = name.startsWith('C') ? 'Counted' : undefined
    const translations = [
      { locale: 'de', property: 'name', value: `${name} (deutsch)` },
      { locale: 'fr_CA', property: 'NAME', value: `${name} (québécois)` },
    ]
    const { body } = await owner.post('/schemas').send(schemaBody({ name, description, translations })).expect(201)
    made.push(body.id)
  }
  for (const name of names.slice(0, 3))
    await owner.post('/data-pipelines').send(pipelineBody(made[0]!, { name })).expect(201)
})
afterAll(() => service?.stop())

const namesOf = (body: { name: string }[]) => body.map(({ name }) => name)
const listed = async (query: string) => namesOf((await owner.get(`/schemas?${query}`).expect(200)).body)
const encoded = encodeURIComponent

describe('a list', () => {
  it('returns the total and the links to other pages in its headers', async () => {
    const { headers, body } = await owner.get('/schemas?pageSize=3&page=2&order=name:asc').expect(200)
    expect(body).toHaveLength(3)
    expect(headers).toMatchObject({
      'x-total-count': '10',
      'x-page': '2',
      'x-page-size': '3',
      'x-page-count': '4',
      link: expect.stringMatching(/rel="first".*rel="prev".*rel="next".*rel="last"/),
    })
    const uncounted = await owner.get('/schemas?total=false').expect(200)
    expect(uncounted.headers).not.toHaveProperty('x-total-count')
    const whole = await owner.get('/schemas?paging=false').expect(200)
    expect(whole.body).toHaveLength(names.length)
  })

  it('can be read completely by its next links, without missing or repeated items', async () => {
    const seen: string[] = []
    let next: string | undefined = '/api/v1/schemas?pageSize=4&order=permanent:asc'
    while (next) {
      const { body, headers }: { body: { name: string }[]; headers: Record<string, string> } = await owner
        .get(next.replace('/api/v1', ''))
        .expect(200)
      seen.push(...namesOf(body))
      next = /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
    }
    expect(seen.toSorted()).toEqual(names.toSorted())
    expect(new Set(seen).size).toBe(names.length)
  })

  it('is ordered by name without regard to case by default, and by the requested property otherwise', async () => {
    const all = await listed('')
    expect(all.slice(0, 5)).toEqual(['anaemia', 'Beds', 'births', 'Cases%2', 'Cases_1'])
    expect(await listed('order=name:idesc')).toEqual(all.toReversed())
    expect(await listed('order=created:desc')).toEqual(names.toReversed())
  })

  it('is filtered by all or any of the filters, and by text', async () => {
    expect(await listed('filter=name:eq:Beds')).toEqual(['Beds'])
    expect(await listed(`filter=name:ilike:M&filter=description:null&rootJunction=AND&order=name:asc`)).toEqual(
      expect.arrayContaining(['Malaria', 'anaemia', 'measles']),
    )
    expect(await listed('filter=name:eq:Beds&filter=name:eq:zinc&rootJunction=OR')).toEqual(['Beds', 'zinc'])
    expect(await listed(`query=${encoded('cases')}`)).toEqual(['Cases_1', 'Cases%2'].toSorted())
    expect(await listed(`query=${encoded('s%2')}`)).toEqual(['Cases%2'])
    expect(await listed(`query=${encoded('ärzt')}`)).toEqual(['Ärzte'])
    expect(await listed(`query=${encoded("' or 1=1 --")}`)).toEqual([])
  })

  it('returns the same by POST search as by GET, with the same links', async () => {
    const asked = { filter: ['name:ilike:a'], order: ['name:idesc'], paging: { page: 2, pageSize: 2 } }
    const posted = await owner.post('/schemas/search').send(asked).expect(200)
    const got = await owner.get('/schemas?filter=name:ilike:a&order=name:idesc&page=2&pageSize=2').expect(200)
    expect(posted.body).toEqual(got.body)
    expect(posted.headers['x-total-count']).toBe(got.headers['x-total-count'])
    const targets = (link: string) =>
      [...link.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, rel]) => [
        rel,
        [...new URL(url!, 'http://x').searchParams].toSorted(),
      ])
    expect(targets(posted.headers['link']!)).toEqual(targets(got.headers['link']!))
  })

  it('reports all invalid filters and orders at once', async () => {
    const query = [
      'filter=name:eq:x',
      'filter=password:eq:x',
      'filter=name:around:x',
      'filter=created:gt:yesterday',
      `filter=${encoded('name:eq:a\0')}`,
      'order=colour',
      'order=name:sideways',
    ].join('&')
    const { body } = await owner.get(`/schemas?${query}`).expect(400)
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer)
    expect(pointers).toEqual(['/filter/4'])
    const rest = await owner.get(`/schemas?${query.replace('%00', '')}`).expect(400)
    expect(rest.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/filter/1',
      '/filter/2',
      '/filter/3',
      '/order/0',
      '/order/1',
    ])
    await owner.get('/schemas?page=1000000&pageSize=1000').expect(400)
  })
})

describe.each([
  ['schemas', schemaRecords.definition.properties],
  ['data-pipelines', dataPipelines.definition.properties],
])('every property of %s', (noun, properties) => {
  const values = {
    string: 'x',
    uid: '4b1fb1a0-2f3c-4a5e-9f53-0d7c6f3e1c11',
    number: '1',
    boolean: 'true',
    // Compared by how many there are.
    strings: '1',
  }

  it.each(Object.entries(properties))(
    'can be filtered, and ordered unless it is a list: %s',
    async (name, property) => {
      const value =
        property.type === 'enum'
          ? property.values[0]
          : property.type === 'date-time'
            ? '2026-01-31'
            : values[property.type]
      const query = `filter=${name}:!null&filter=${name}:eq:${encoded(value!)}&filter=${name}:in:[${encoded(value!)}]`
      await owner.get(`/${noun}?${query}`).expect(200)
      await owner.get(`/${noun}?order=${name}:desc`).expect(property.type === 'strings' ? 400 : 200)
      await owner.get(`/${noun}?filter=${name}:null&rootJunction=OR`).expect(200)
    },
  )
})

describe('translated names', () => {
  const shown = async (headers: Record<string, string>, query = '') =>
    (await owner.get(`/schemas?filter=name:eq:Beds${query}`).set(headers).expect(200)).body[0]

  it.each([
    ['de', 'Beds (deutsch)'],
    ['de-AT,en;q=0.5', 'Beds (deutsch)'],
    ['en;q=0.9,fr-CA;q=0.8,de;q=0.7', 'Beds (québécois)'],
    ['fr', 'Beds'],
    ['*', 'Beds'],
    ['de;q=0, nonsense;;;, %zz', 'Beds'],
  ])('follow Accept-Language: %s', async (language, displayName) => {
    expect(await shown({ 'Accept-Language': language })).toMatchObject({ name: 'Beds', displayName })
  })

  it('follow the locale parameter rather than Accept-Language, also in nested objects', async () => {
    expect(await shown({ 'Accept-Language': 'de' }, '&locale=fr_CA')).toMatchObject({ displayName: 'Beds (québécois)' })
    const { body } = await owner.get('/data-pipelines?locale=de&order=name:asc&pageSize=1').expect(200)
    expect(body[0].dataWarehouseTarget.schema.displayName).toBe('Water (deutsch)')
    const { id } = await shown({})
    expect((await owner.get(`/schemas/${id}?locale=de`).expect(200)).body.displayName).toBe('Beds (deutsch)')
  })
})
