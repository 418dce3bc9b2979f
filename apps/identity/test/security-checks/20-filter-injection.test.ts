import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { userBody, startService, type Service } from '../app-under-test.ts'

const names = [
  '100% sure',
  '100 sure',
  'under_score',
  'underXscore',
  'back\\slash',
  'ends in \\',
  "O'Brien; drop table users; --",
  'q"uote',
  'plain',
]

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
  for (const name of names) await admin.post('/users').send(userBody({ name })).expect(201)
})
afterAll(() => service.stop())

const found = async (request: object): Promise<string[]> => {
  const { body } = await admin
    .post('/users/search')
    .send({ order: ['created'], ...request, paging: {} })
    .expect(200)
  return body.map(({ name }: { name: string }) => name).filter((name: string) => name !== 'Test')
}
const patterns: [string, (name: string, text: string) => boolean][] = [
  ['like', (name, text) => name.includes(text)],
  ['ilike', (name, text) => name.toLowerCase().includes(text.toLowerCase())],
  ['$like', (name, text) => name.startsWith(text)],
  ['startsWith', (name, text) => name.toLowerCase().startsWith(text.toLowerCase())],
  ['like$', (name, text) => name.endsWith(text)],
  ['endsWith', (name, text) => name.toLowerCase().endsWith(text.toLowerCase())],
  ['eq', (name, text) => name === text],
]

describe.each([
  '%',
  '_',
  '\\',
  '%%',
  '__',
  '\\%',
  '\\\\',
  '%_%',
  "'",
  "'; drop table users; --",
  '"',
  '$1',
  '${x}',
  ')',
  '--',
  '/*',
  "' or '1'='1",
  'E\\x41',
])('%j', (text) => {
  it.each(patterns)('is nothing but text to %s', async (operator, holds) => {
    const model = names.filter((name) => holds(name, text))
    expect(await found({ filter: [`name:${operator}:${text}`] })).toEqual(model)
    const others = operator === 'eq' ? '!eq' : operator.includes('With') ? undefined : `!${operator}`
    if (others)
      expect(await found({ filter: [`name:${others}:${text}`] })).toEqual(names.filter((name) => !holds(name, text)))
  })

  it('is nothing but text to the query', async () => {
    expect(await found({ query: text })).toEqual(
      names.filter((name) => name.toLowerCase().includes(text.toLowerCase())),
    )
  })
})

it.each([
  'name;--',
  'name:asc nulls first',
  'name:asc,username',
  "name:asc'; drop table users",
  'name asc',
  '1',
  'lower(name)',
  'name:ASC',
  'name:',
  ':asc',
  'r.name',
  '"name"',
  'name:asc:',
])('an order %j is refused', async (order) => {
  const { body } = await admin
    .post('/users/search')
    .send({ order: [order], paging: {} })
    .expect(400)
  expect(body.errors[0].pointer).toBe('/order/0')
})

it.each([
  `id:in:[${Array(501).fill('00000000-0000-4000-8000-000000000000').join(',')}]`,
  `name:in:[${Array(9_000).fill('a').join(',')}]`,
  'name:in:[a,b',
  'name:in:a]',
  'name:in:[]',
  'name:in:[a,,b]',
  `name:eq:${'x'.repeat(1001)}`,
  'created:gt:now()',
  'id:eq:1 or 1=1',
  'ssoAuth:eq:t',
  'status:eq:ACTIVE or true',
  'auths:eq:1; select',
  'name:ilike:',
])('a filter %j is refused', async (filter) => {
  const { body } = await admin
    .post('/users/search')
    .send({ filter: [filter], paging: {} })
    .expect(400)
  expect(JSON.stringify(body)).not.toMatch(/select|pg_|syntax error|relation/i)
})

it('takes so many filters, orders and items, and no more', async () => {
  const search = (request: object) => admin.post('/users/search').send({ paging: {}, ...request })
  await search({ filter: Array(20).fill('name:!null') }).expect(200)
  await search({ filter: Array(21).fill('name:!null') }).expect(422)
  await search({ order: ['name', 'username', 'email', 'created', 'status'] }).expect(200)
  await search({ order: ['name', 'username', 'email', 'created', 'status', 'id'] }).expect(422)
  await search({ filter: [`name:in:[${Array(500).fill('a').join(',')}]`] }).expect(200)
  await search({ filter: [`name:in:[${Array(10_000).fill('a').join(',')}]`] }).expect(422)
  await search({ query: 'x'.repeat(201) }).expect(422)
  await search({ rootJunction: 'XOR' }).expect(400)
})

it('still has every user', async () => {
  expect(await found({})).toEqual(names)
})
