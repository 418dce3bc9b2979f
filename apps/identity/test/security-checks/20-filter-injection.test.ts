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

const search = async (request: object): Promise<string[]> => {
  const { body } = await admin
    .post('/users/search')
    .send({ order: ['created'], ...request, paging: {} })
    .expect(200)
  return body.map(({ name }: { name: string }) => name).filter((name: string) => name !== 'Test')
}
/** Operators, and which names they match. */
const operators: [string, (name: string, text: string) => boolean][] = [
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
])('the text %j', (text) => {
  it.each(operators)('is matched literally by %s and its negation', async (operator, matches) => {
    expect(await search({ filter: [`name:${operator}:${text}`] })).toEqual(names.filter((name) => matches(name, text)))
    const negation = operator === 'eq' ? '!eq' : operator.includes('With') ? undefined : `!${operator}`
    if (negation)
      expect(await search({ filter: [`name:${negation}:${text}`] })).toEqual(
        names.filter((name) => !matches(name, text)),
      )
  })

  it('is matched literally by the query', async () => {
    expect(await search({ query: text })).toEqual(
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
])('the order %j is refused', async (order) => {
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
])('the filter %j is refused, and the error contains no SQL', async (filter) => {
  const { body } = await admin
    .post('/users/search')
    .send({ filter: [filter], paging: {} })
    .expect(400)
  expect(JSON.stringify(body)).not.toMatch(/select|pg_|syntax error|relation/i)
})

it('a search accepts 20 filters, 5 orders and 500 list items, and refuses more', async () => {
  const send = (request: object) => admin.post('/users/search').send({ paging: {}, ...request })
  await send({ filter: Array(20).fill('name:!null') }).expect(200)
  await send({ filter: Array(21).fill('name:!null') }).expect(422)
  await send({ order: ['name', 'username', 'email', 'created', 'status'] }).expect(200)
  await send({ order: ['name', 'username', 'email', 'created', 'status', 'id'] }).expect(422)
  await send({ filter: [`name:in:[${Array(500).fill('a').join(',')}]`] }).expect(200)
  await send({ filter: [`name:in:[${Array(10_000).fill('a').join(',')}]`] }).expect(422)
  await send({ query: 'x'.repeat(201) }).expect(422)
  await send({ rootJunction: 'XOR' }).expect(400)
})

it('all users still exist after these searches', async () => {
  expect(await search({})).toEqual(names)
})
