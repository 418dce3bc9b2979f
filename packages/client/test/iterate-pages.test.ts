import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { users } from '../src/generated/identity.ts'
import { dataPipelines, schemas } from '../src/generated/pipeline.ts'
import { items, pages, serviceClient } from '../src/index.ts'
import { type Asked, type Behaviour, json, problem, scriptedServer } from './scripted-server.ts'

const uid = '0198c1a0-0000-7000-8000-000000000001'

/** A service with `total` items that returns at most `limit` per page, by cursor or by page number. */
function listOf(total: number, limit: number, cursors: boolean): Behaviour {
  return (response, request) => {
    const query = new URL(request.url ?? '', 'http://here').searchParams
    const size = Math.min(Number(query.get('pageSize') ?? 50), limit)
    const page = Number(query.get('page') ?? 1)
    const first = query.has('after') ? Number(query.get('after')) : (page - 1) * size
    const found = Array.from({ length: Math.min(size, total - first) }, (_, index) => ({ id: String(first + index) }))
    const more = first + size < total
    return json(200, found, {
      'x-page': String(page),
      'x-page-size': String(size),
      'x-total-count': String(total),
      ...(cursors
        ? more && { 'x-next-cursor': String(first + size) }
        : { 'x-page-count': String(Math.ceil(total / size)) }),
    })(response, request)
  }
}

it('yields every item once and in order, for any number of items and any size of pages', async () => {
  await using server = await scriptedServer(json(200, []))
  const client = serviceClient({ baseUrl: server.url })
  const service = fc.record({ total: fc.nat(60), limit: fc.integer({ min: 1, max: 20 }), cursors: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      service,
      fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
      async (list, pageSize) => {
        server.now(listOf(list.total, list.limit, list.cursors))
        const query = pageSize === undefined ? {} : { pageSize }
        const found = await Array.fromAsync(items(client, schemas.list, { query }), ({ id }) => Number(id))
        expect(found).toEqual(Array.from({ length: list.total }, (_, index) => index))
      },
    ),
    { numRuns: drawCount({ short: 60, long: 2_000 }) },
  )
})

const queriesOf = (asked: Asked[]) =>
  asked.map(({ url }) => Object.fromEntries(new URL(url, 'http://here').searchParams))

it('keeps the query, and requests a page only when it is needed', async () => {
  await using server = await scriptedServer(listOf(500, 1000, true))
  const client = serviceClient({ baseUrl: server.url })
  for await (const { items, total } of pages(client, schemas.list, { query: { query: 'a', pageSize: 100, page: 2 } })) {
    expect([items[0]?.id, total]).toEqual(['100', 500])
    break
  }
  const found: string[] = []
  for await (const { id } of items(client, schemas.list)) if (found.push(id) === 201) break
  expect(queriesOf(server.asked)).toEqual([
    { query: 'a', pageSize: '100', page: '2' },
    { pageSize: '200' },
    { pageSize: '200', after: '200' },
  ])
})

it('follows the Link header of a list without cursors and totals', async () => {
  const page = (number: number, link: string) =>
    json(200, [{ taskId: `t${number}` }], { 'x-page': String(number), link })
  const next = '</api/v1/x?page=2>; rel="next"'
  await using server = await scriptedServer(page(1, next), page(2, '</api/v1/x?page=1>; rel="first"'))
  const client = serviceClient({ baseUrl: server.url })
  const found = await Array.fromAsync(items(client, dataPipelines.runs, { params: { uid } }))
  expect(found.map(({ taskId }) => taskId)).toEqual(['t1', 't2'])
  expect(queriesOf(server.asked).map(({ page }) => page)).toEqual([undefined, '2'])
})

it('continues a search in its body', async () => {
  const cursor = { 'x-page': '1', 'x-next-cursor': 'c1' }
  await using server = await scriptedServer(
    json(200, [{ id: 'a' }], cursor),
    json(200, [{ id: 'b' }], { 'x-page': '2' }),
  )
  const client = serviceClient({ baseUrl: server.url })
  const body = { query: 'ida', paging: { total: false } }
  const found = await Array.fromAsync(items(client, users.search, { body }), ({ id }) => id)
  expect(found).toEqual(['a', 'b'])
  expect(server.asked.map((asked) => JSON.parse(asked.body))).toEqual([
    { query: 'ida', paging: { pageSize: 200, total: false } },
    { query: 'ida', paging: { pageSize: 200, total: false, after: 'c1' } },
  ])
})

it('throws when a page fails, after the items of the pages before it', async () => {
  await using server = await scriptedServer(listOf(5, 3, true), problem(403, 'forbidden'))
  const found: string[] = []
  const all = async () => {
    for await (const { id } of items(serviceClient({ baseUrl: server.url }), schemas.list)) found.push(id)
  }
  await expect(all()).rejects.toMatchObject({ status: 403 })
  expect(found).toEqual(['0', '1', '2'])
})
