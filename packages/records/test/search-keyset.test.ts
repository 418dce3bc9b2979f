import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { SearchRequest } from '@sluice/contracts'
import { buildSearchPlan, type SearchResource } from '../src/search/search-plan.ts'
import { InvalidSearch } from '../src/search/invalid-search.ts'
import {
  compareBy,
  connectWith,
  pick,
  randomNumbers,
  randomRows,
  resource,
  someOrder,
  type Row,
} from './reference-search.ts'

const random = randomNumbers(11)
const rows = randomRows(random, 240)
/** The same resource with required properties only. */
const complete: SearchResource = {
  ...resource,
  properties: Object.fromEntries(
    Object.entries(resource.properties).map(([name, property]) => [name, { ...property, required: true }]),
  ),
}
const isComplete = (row: Row) => Object.values(row).every((value) => value !== null)

let connection: Awaited<ReturnType<typeof connectWith>>
beforeAll(async () => {
  connection = await connectWith(rows)
})
afterAll(async () => {
  await connection[Symbol.asyncDispose]()
})

interface PageRequest {
  request: SearchRequest
  of?: SearchResource
  /** The rows that exist. Others are excluded by a condition outside of the request. */
  among?: readonly Row[]
}

/** Reads one page with the statement of `list.ts`. Returns its keys and the cursor of its last row. */
async function readPage({
  request,
  of = resource,
  among = rows,
}: PageRequest): Promise<{ keys: number[]; cursor: string | undefined }> {
  const plan = buildSearchPlan(request, of)
  const conditions = [sql`r.key = any(${among.map(({ key }) => key)}::bigint[])`, ...plan.where]
  if (plan.after) conditions.push(sql`(${plan.after})`)
  const { rows: found } = await sql<{ key: number; keys: (string | null)[] }>`
    select r.key, array[${sql.join(plan.keys)}]::text[] as keys from thing as r where ${sql.join(conditions, sql` and `)}
    order by ${sql.join(plan.order)} limit ${plan.limit} offset ${plan.offset}`.execute(connection.db)
  const last = found.at(-1)
  return { keys: found.map(({ key }) => key), cursor: last && plan.cursorAfter(last.keys) }
}

async function readAllPages(
  options: Omit<PageRequest, 'request'>,
  order: string[],
  pageSize: number,
): Promise<number[]> {
  const seen: number[] = []
  for (let after: string | undefined; ; ) {
    const { keys, cursor } = await readPage({ ...options, request: { order, paging: { pageSize, after } } })
    seen.push(...keys)
    if (!cursor) return seen
    after = cursor
  }
}

const expected = (among: readonly Row[], order: string[], complete = false) =>
  among.toSorted(compareBy(order, complete)).map(({ key }) => key)

describe('paging by cursor', () => {
  it('returns every row once and in order, also with missing and equal values', async () => {
    for (let round = 0; round < 60; round++) {
      const order = someOrder(random)
      const pageSize = pick(random, [1, 7, 60, 239, 240, 1000])
      const among = pageSize === 1 ? rows.slice(0, 40) : rows
      const seen = await readAllPages({ among }, order, pageSize)
      expect({ order, seen }).toEqual({ order, seen: expected(among, order) })
    }
  })

  it('returns every row once and in order with a row comparison, if all properties are required', async () => {
    const among = rows.filter(isComplete)
    expect(among.length).toBeGreaterThan(50)
    for (let round = 0; round < 40; round++) {
      const order = someOrder(random)
      const seen = await readAllPages({ among, of: complete }, order, pick(random, [1, 7, 30]))
      expect({ order, seen }).toEqual({ order, seen: expected(among, order, true) })
    }
  })

  it('neither repeats nor skips unchanged rows during concurrent inserts and deletes', async () => {
    for (let round = 0; round < 60; round++) {
      const order = someOrder(random)
      const unchanged = new Set(rows.filter(() => random() < 0.5))
      const currentRows = () => rows.filter((row) => unchanged.has(row) || random() < 0.5)
      const seen: number[] = []
      for (let after: string | undefined; ; ) {
        const { keys, cursor } = await readPage({
          among: currentRows(),
          request: { order, paging: { pageSize: 9, after } },
        })
        seen.push(...keys)
        if (!cursor) break
        after = cursor
      }
      expect(new Set(seen).size).toBe(seen.length)
      const unchangedKeys = new Set([...unchanged].map(({ key }) => key))
      expect(seen.filter((key) => unchangedKeys.has(key))).toEqual(expected([...unchanged], order))
      expect(seen).toEqual(
        expected(
          rows.filter(({ key }) => seen.includes(key)),
          order,
        ),
      )
    }
  })

  it('numbers the pages', () => {
    const { cursorAfter } = buildSearchPlan({ paging: { page: 3 } }, resource)
    const plan = buildSearchPlan({ paging: { after: cursorAfter(['1']) } }, resource)
    expect(plan).toMatchObject({ page: 4, offset: 0 })
  })
})

describe('a cursor', () => {
  const request: SearchRequest = { query: 'a', filter: ['size:ge:0'], order: ['name', 'created:desc'], paging: {} }
  const cursor = buildSearchPlan(request, resource).cursorAfter(['b', '2024-01-01T00:00:00.5', '7'])!
  /** The pointers of the violations of a search with this cursor. */
  const violations = (changes: Partial<SearchRequest>, of = resource) => {
    try {
      buildSearchPlan({ ...request, paging: { after: cursor }, ...changes }, of)
      return []
    } catch (error) {
      if (!(error instanceof InvalidSearch)) throw error
      return error.violations.map(({ pointer }) => pointer)
    }
  }

  it('is accepted with the same search and any page size', () => {
    expect(violations({})).toEqual([])
    const paging = { after: cursor, pageSize: 7, total: false }
    expect(violations({ query: ' a ', rootJunction: 'AND', paging })).toEqual([])
  })

  it.each<[string, Partial<SearchRequest>]>([
    ['another query', { query: 'b' }],
    ['another filter', { filter: ['size:ge:1'] }],
    ['more filters', { filter: ['size:ge:0', 'size:null'] }],
    ['another junction', { rootJunction: 'OR' }],
    ['another order', { order: ['name'] }],
    ['another direction', { order: ['name:desc', 'created:desc'] }],
    ['no order', { order: [] }],
    ['a page number', { paging: { after: cursor, page: 2 } }],
    ['paging: false', { paging: { after: cursor, paging: false } }],
  ])('is refused with %s', (_what, changes) => {
    expect(violations(changes)).toEqual(['/paging/after'])
  })

  it('is refused by another resource', () => {
    expect(violations({}, { ...resource, name: 'others' })).toEqual(['/paging/after'])
  })

  const [payload = '', checksum = ''] = cursor.split('.')
  const other = Buffer.from('[1,"c","2024-01-01","7"]').toString('base64url')
  it.each([
    '',
    '.',
    'x',
    '1',
    payload,
    `${payload}.`,
    `${payload}.${checksum}.`,
    `${payload}A.${checksum}`,
    `${other}.${checksum}`,
    `.${checksum}`,
    `${payload}.${checksum} `,
    '%00',
    '[]',
    'null',
    'a'.repeat(2000),
    `${payload}.${'A'.repeat(16)}`,
  ])('is refused if it is malformed or has a wrong checksum: %j', (after) => {
    expect(violations({ paging: { after } })).toEqual(['/paging/after'])
  })

  it.each([
    [['name'], ['a\0', '7']],
    [['name'], ['\ud800', '7']],
    [['name'], ['a', 'seven']],
    [['name'], ['a', null]],
    [['name'], ['a']],
    [['name'], ['a', 'b', '7']],
    [['id'], ["' or true --", '7']],
    [['size'], ['NaN', '7']],
    [['size'], ['1; drop table thing', '7']],
    [['created'], ['yesterday', '7']],
    [['created'], ['2024-02-30', '7']],
    [['disabled'], ['maybe', '7']],
  ])('with a valid checksum is refused for the order %j and the invalid keys %j', (order, keys) => {
    const forged = buildSearchPlan({ order, paging: {} }, complete).cursorAfter(keys)!
    expect(violations({ query: undefined, filter: undefined, order, paging: { after: forged } }, complete)).toEqual([
      '/paging/after',
    ])
  })

  it('does not exist if its values are too long for a URL', () => {
    const { cursorAfter } = buildSearchPlan({ order: ['name'], paging: {} }, resource)
    expect(cursorAfter(['x'.repeat(1400), '7'])!.length).toBeLessThanOrEqual(2000)
    expect(cursorAfter(['x'.repeat(1500), '7'])).toBeUndefined()
  })
})
