import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { SearchRequest } from '@sluice/contracts'
import { searchPlan, type SearchResource } from '../src/search/plan.ts'
import { InvalidSearch } from '../src/search/violations.ts'
import {
  compareBy,
  connectWith,
  pick,
  randomNumbers,
  randomRows,
  resource,
  someOrder,
  type Row,
} from './search-model.ts'

const random = randomNumbers(11)
const rows = randomRows(random, 240)
/** As `resource`, but of rows in which nothing is missing. */
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

interface Asked {
  request: SearchRequest
  of?: SearchResource
  /** A condition outside of the request. */
  among?: readonly Row[]
}

/** One page as `list.ts` asks for it, and the cursor of its last row. */
async function pageOf({
  request,
  of = resource,
  among = rows,
}: Asked): Promise<{ keys: number[]; cursor: string | undefined }> {
  const plan = searchPlan(request, of)
  const conditions = [sql`r.key = any(${among.map(({ key }) => key)}::bigint[])`, ...plan.where]
  if (plan.after) conditions.push(sql`(${plan.after})`)
  const { rows: found } = await sql<{ key: number; keys: (string | null)[] }>`
    select r.key, array[${sql.join(plan.keys)}]::text[] as keys from thing as r where ${sql.join(conditions, sql` and `)}
    order by ${sql.join(plan.order)} limit ${plan.limit} offset ${plan.offset}`.execute(connection.db)
  const last = found.at(-1)
  return { keys: found.map(({ key }) => key), cursor: last && plan.cursorAfter(last.keys) }
}

async function walk(asked: Omit<Asked, 'request'>, order: string[], pageSize: number): Promise<number[]> {
  const seen: number[] = []
  for (let after: string | undefined; ; ) {
    const { keys, cursor } = await pageOf({ ...asked, request: { order, paging: { pageSize, after } } })
    seen.push(...keys)
    if (!cursor) return seen
    after = cursor
  }
}

const expected = (among: readonly Row[], order: string[], complete = false) =>
  among.toSorted(compareBy(order, complete)).map(({ key }) => key)

describe('a walk by cursors', () => {
  it('meets every row once, in order, whatever is missing or equal', async () => {
    for (let round = 0; round < 60; round++) {
      const order = someOrder(random)
      const pageSize = pick(random, [1, 7, 60, 239, 240, 1000])
      const among = pageSize === 1 ? rows.slice(0, 40) : rows
      expect({ order, seen: await walk({ among }, order, pageSize) }).toEqual({ order, seen: expected(among, order) })
    }
  })

  it('does so by one comparison of rows where nothing is missing', async () => {
    const among = rows.filter(isComplete)
    expect(among.length).toBeGreaterThan(50)
    for (let round = 0; round < 40; round++) {
      const order = someOrder(random)
      const seen = await walk({ among, of: complete }, order, pick(random, [1, 7, 30]))
      expect({ order, seen }).toEqual({ order, seen: expected(among, order, true) })
    }
  })

  it('neither repeats nor skips a row while others come and go', async () => {
    for (let round = 0; round < 60; round++) {
      const order = someOrder(random)
      const steady = new Set(rows.filter(() => random() < 0.5))
      const now = () => rows.filter((row) => steady.has(row) || random() < 0.5)
      const seen: number[] = []
      for (let after: string | undefined; ; ) {
        const { keys, cursor } = await pageOf({ among: now(), request: { order, paging: { pageSize: 9, after } } })
        seen.push(...keys)
        if (!cursor) break
        after = cursor
      }
      expect(new Set(seen).size).toBe(seen.length)
      const kept = new Set([...steady].map(({ key }) => key))
      expect(seen.filter((key) => kept.has(key))).toEqual(expected([...steady], order))
      expect(seen).toEqual(
        expected(
          rows.filter(({ key }) => seen.includes(key)),
          order,
        ),
      )
    }
  })

  it('counts the pages', () => {
    const { cursorAfter } = searchPlan({ paging: { page: 3 } }, resource)
    const plan = searchPlan({ paging: { after: cursorAfter(['1']) } }, resource)
    expect(plan).toMatchObject({ page: 4, offset: 0 })
  })
})

describe('a cursor', () => {
  const request: SearchRequest = { query: 'a', filter: ['size:ge:0'], order: ['name', 'created:desc'], paging: {} }
  const cursor = searchPlan(request, resource).cursorAfter(['b', '2024-01-01T00:00:00.5', '7'])!
  const faults = (changes: Partial<SearchRequest>, of = resource) => {
    try {
      searchPlan({ ...request, paging: { after: cursor }, ...changes }, of)
      return []
    } catch (error) {
      if (!(error instanceof InvalidSearch)) throw error
      return error.violations.map(({ pointer }) => pointer)
    }
  }

  it('is taken again with the same search, in pages of any size', () => {
    expect(faults({})).toEqual([])
    expect(faults({ query: ' a ', rootJunction: 'AND', paging: { after: cursor, pageSize: 7, total: false } })).toEqual(
      [],
    )
  })

  it.each<[string, Partial<SearchRequest>]>([
    ['query', { query: 'b' }],
    ['filter', { filter: ['size:ge:1'] }],
    ['more filters', { filter: ['size:ge:0', 'size:null'] }],
    ['junction', { rootJunction: 'OR' }],
    ['order', { order: ['name'] }],
    ['direction', { order: ['name:desc', 'created:desc'] }],
    ['no order', { order: [] }],
    ['page', { paging: { after: cursor, page: 2 } }],
    ['no pages', { paging: { after: cursor, paging: false } }],
  ])('is refused with another %s', (_what, changes) => {
    expect(faults(changes)).toEqual(['/paging/after'])
  })

  it('is refused by another resource', () => {
    expect(faults({}, { ...resource, name: 'others' })).toEqual(['/paging/after'])
  })

  const [payload = '', sum = ''] = cursor.split('.')
  const other = Buffer.from('[1,"c","2024-01-01","7"]').toString('base64url')
  it.each([
    '',
    '.',
    'x',
    '1',
    payload,
    `${payload}.`,
    `${payload}.${sum}.`,
    `${payload}A.${sum}`,
    `${other}.${sum}`,
    `.${sum}`,
    `${payload}.${sum} `,
    '%00',
    '[]',
    'null',
    'a'.repeat(2000),
    `${payload}.${'A'.repeat(16)}`,
  ])('is refused when it is made up: %j', (after) => {
    expect(faults({ paging: { after } })).toEqual(['/paging/after'])
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
  ])('that was made up by somebody who knows how, by %j with %j, reaches no database', (order, keys) => {
    const forged = searchPlan({ order, paging: {} }, complete).cursorAfter(keys)!
    expect(faults({ query: undefined, filter: undefined, order, paging: { after: forged } }, complete)).toEqual([
      '/paging/after',
    ])
  })

  it('is none where the values would not fit into an address', () => {
    const { cursorAfter } = searchPlan({ order: ['name'], paging: {} }, resource)
    expect(cursorAfter(['x'.repeat(1400), '7'])!.length).toBeLessThanOrEqual(2000)
    expect(cursorAfter(['x'.repeat(1500), '7'])).toBeUndefined()
  })
})
