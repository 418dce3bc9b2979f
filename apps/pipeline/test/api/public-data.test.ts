import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { serviceClient } from '@sluice/client'
import { identityOperations } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import { createResponseCache } from '../../src/api/public-data/response-cache.ts'
import { createNetworkRateLimit } from '../../src/api/public-data/operations.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
let username: string
let place: LoadedPlace
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const
  const one = await service.identity.person(client, [...roles])
  username = (one as unknown as { username: string }).username
  owner = service.as(one)
  place = await loadedPlace(service, owner, client)
})
afterAll(() => service?.stop())

const anybody = (path: string) => service.http.get(`/api/v1/public${path}`)
const opened = async (metadata: boolean, data: boolean) => {
  const anonymousAccess = { metadata, data }
  const { body: pipeline } = await owner.get(`/data-pipelines/${place.pipeline}`).expect(200)
  const owned = { ...pipeline, owner: 'Ada Lovelace', source: 'Registry', anonymousAccess }
  await owner.put(`/data-pipelines/${place.pipeline}`).send(owned).expect(200)
  const query = `select id, region from ${place.table} order by id`
  const { body: view } = await owner
    .post('/views')
    .send(viewBody(place.schema, query, { anonymousAccess }))
    .expect(201)
  return [`/data-pipelines/${place.pipeline}`, `/views/${view.id}`] as const
}
const plain = ({ body }: { body: Record<string, unknown> }) => ({ ...body, instance: '', requestId: '' })

describe('open data', () => {
  it('is readable as far as its owner allows; otherwise it gives the same 404 as an unknown id', async () => {
    const absent = plain(await anybody(`/views/${randomUUID()}`).expect(404))
    for (const [metadata, data] of [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ] as const)
      for (const path of await opened(metadata, data)) {
        const about = await anybody(path).expect(metadata ? 200 : 404)
        const rows = await anybody(`${path}/data?pageSize=2`).expect(data ? 200 : 404)
        if (!metadata) expect(plain(about)).toEqual(absent)
        if (!data) expect(plain(rows)).toEqual(absent)
        else
          expect(rows.body).toMatchObject({
            rows: [
              [1, 'north'],
              [2, 'south'],
            ],
            height: 2,
            width: 2,
          })
      }
    for (const odd of ['1', 'null', "'; drop table views; --"])
      expect(plain(await anybody(`/views/${encodeURIComponent(odd)}`).expect(404))).toEqual(absent)
    await anybody('/views').expect(404)
    await anybody(`/views/${randomUUID()}/data?pageSize=1001`).expect(400)
  })

  it('contains no author, query, schema or column profile', async () => {
    const [pipeline, view] = await opened(true, true)
    const { body, headers } = await anybody(pipeline).expect(200)
    expect(Object.keys(body).toSorted()).toEqual(
      ['columns', 'displayName', 'id', 'name', 'rowCount', 'source', 'tags'].toSorted(),
    )
    expect(body).toMatchObject({ rowCount: 3, source: 'Registry', columns: [{ name: 'id', dataType: 'INTEGER' }, {}] })
    expect(headers['cache-control']).toBe('public, max-age=30')
    const said = JSON.stringify([body, (await anybody(view).expect(200)).body, (await anybody(`${view}/data`)).body])
    for (const secret of ['Ada Lovelace', username, 'select', place.schemaName, 'createdBy', client])
      expect(said).not.toContain(secret)
  })

  it('returns 404 as soon as its owner closes it', async () => {
    const [pipeline] = await opened(true, true)
    await anybody(`${pipeline}/data`).expect(200)
    await opened(false, false)
    await anybody(`${pipeline}/data`).expect(404)
  })

  it('returns 404 while pipelines are switched off for its organisation', async () => {
    const { identity } = service
    const other = await identity.client()
    const admin = await identity.person(other.id, ['ROLE_SUPER_ADMIN'])
    const there = await loadedPlace(service, service.as(admin), other.id)
    const open = viewBody(there.schema, 'select 1 as a', { anonymousAccess: { metadata: true, data: true } })
    const { body: view } = await service.as(admin).post('/views').send(open).expect(201)
    await anybody(`/views/${view.id}`).expect(200)
    const client = serviceClient({ baseUrl: identity.url, token: () => admin.token })
    const update = { params: { uid: other.id }, body: { ...other, pipelinesEnabled: false } }
    await client.call(identityOperations.clients.update, update)
    const anew = await service.serve()
    try {
      for (const what of ['', '/data']) await anew.http.get(`/api/v1/public/views/${view.id}${what}`).expect(404)
    } finally {
      await anew.close()
    }
  })

  it('is read once for concurrent requests, and again for a later request', async () => {
    const asked: string[] = []
    const kept = createResponseCache<string>({ lifetimeMs: 0, maxEntries: 3 })
    const fetch = async () => `${asked.push('')}`
    expect(await Promise.all([kept('a', fetch), kept('a', fetch), kept('b', fetch)])).toEqual(['1', '1', '2'])
    expect(await kept('a', fetch)).toBe('3')

    const [pipeline] = await opened(true, true)
    await anybody(`${pipeline}/data`).expect(200)
    await fill(service, client, place, { types: { id: 'INTEGER', region: 'TEXT' }, rows: [[9, 'new']] })
    expect((await anybody(`${pipeline}/data`).expect(200)).body.rows).toEqual([[9, 'new']])
  })

  it('is cached for the lifetime at most, in a limited number of entries, and not after an error', async () => {
    let now = 0
    let asked = 0
    const kept = createResponseCache<number>({ lifetimeMs: 30_000, maxEntries: 2 }, () => now)
    const fetch = async () => (asked += 1)
    expect([await kept('a', fetch), await kept('a', fetch), await kept('b', fetch)]).toEqual([1, 1, 2])
    expect([await kept('c', fetch), await kept('a', fetch)]).toEqual([3, 4])
    now = 30_001
    expect(await kept('a', fetch)).toBe(5)
    await expect(kept('d', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(await kept('d', fetch)).toBe(6)
  })

  it('is rate-limited for each network', () => {
    let now = 0
    const admit = createNetworkRateLimit(() => now)
    for (let asked = 0; asked < 100; asked += 1) admit(`2001:db8:1:2::${asked}`)
    expect(() => admit('2001:db8:1:2:ffff::1')).toThrow('Wait a second')
    admit('2001:db8:1:3::1')
    admit('198.51.100.7')
    for (let asked = 0; asked < 100; asked += 1) admit('::ffff:c000:201')
    expect(() => admit('192.0.2.1')).toThrow('Wait a second')
    admit('::ffff:c000:202')
    now += 400
    admit('2001:db8:1:2::1')
    admit('2001:db8:1:2::1')
    expect(() => admit('2001:db8:1:2::1')).toThrow('too many requests')
  })
})

describe('an export of open data', () => {
  it('has all rows in the format of the request, and its audit has no actor', async () => {
    await fill(service, client, place, {
      types: { id: 'INTEGER', region: 'TEXT' },
      rows: [
        [1, 'north'],
        [2, 'south'],
        [3, 'north'],
      ],
    })
    for (const path of await opened(true, true)) {
      const { text, headers } = await anybody(`${path}/data?format=csv`).buffer().expect(200)
      expect(text).toBe('id,region\r\n1,north\r\n2,south\r\n3,north\r\n')
      expect(headers['content-disposition']).toContain('attachment; filename="')
      const lines = await anybody(`${path}/data`).set('accept', 'application/x-ndjson').buffer().expect(200)
      expect(lines.text.trimEnd().split('\n')).toHaveLength(3)
      const audited = await service.stack.db
        .selectFrom('audit')
        .select(['actor', 'client', 'details'])
        .where('operation', 'like', 'public.%')
        .where('object', '=', path.split('/')[2]!)
        .orderBy('at')
        .execute()
      expect(audited).toHaveLength(2)
      expect(audited[0]).toMatchObject({ actor: null, client, details: { format: 'csv', rows: 3, outcome: 'OK' } })
    }
  })

  it('is refused as a page is: 404 if it is closed, 406, and 422 for a page of a file', async () => {
    const [pipeline, view] = await opened(true, true)
    await anybody(`${view}/data?format=pdf`).expect(406)
    await anybody(`${view}/data?format=csv&page=2`).expect(422)
    await opened(false, false)
    await anybody(`${pipeline}/data?format=csv`).expect(404)
    await anybody(`/views/${randomUUID()}/data?format=parquet`).expect(404)
  })

  it('does not use the warehouse before it has a slot, and is refused if 20 others wait', async () => {
    const query = `select id, pg_sleep(4)::text as slept from ${place.table} limit 1`
    const { body: view } = await owner
      .post('/views')
      .send(viewBody(place.schema, query, { anonymousAccess: { metadata: true, data: true } }))
      .expect(201)
    const path = `/views/${view.id}/data?format=csv`
    const leaving = new AbortController()
    const lookups = jest.spyOn(service.stack.warehouses, 'find')
    try {
      const refused: number[] = []
      const sent = Array.from({ length: 40 }, () =>
        fetch(`${service.url}/api/v1/public${path}`, { signal: leaving.signal }).then(
          ({ status }) => void refused.push(status),
          () => undefined,
        ),
      )
      // Two hold the slots and 20 wait.
      await until(async () => refused.length >= 18 && lookups.mock.calls.length >= 2)
      expect(refused).toEqual(Array.from({ length: 18 }, () => 503))
      expect(lookups.mock.calls).toHaveLength(2)
      leaving.abort()
      await Promise.all(sent)
    } finally {
      lookups.mockRestore()
    }
  })

  it('is stopped if its first rows take longer than five seconds', async () => {
    const query = `select id, pg_sleep(7)::text as slept from ${place.table}`
    const { body: view } = await owner
      .post('/views')
      .send(viewBody(place.schema, query, { anonymousAccess: { metadata: true, data: true } }))
      .expect(201)
    const { body } = await anybody(`/views/${view.id}/data?format=csv`).expect(422)
    expect(body).toMatchObject({ code: 'query-timeout', detail: expect.stringContaining('within 5 seconds') })
  })
})
