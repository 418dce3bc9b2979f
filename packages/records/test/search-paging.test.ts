import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { SearchRequest } from '@sluice/contracts'
import { buildSearchPlan } from '../src/search/search-plan.ts'
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

const random = randomNumbers(7)
const rows = randomRows(random, 257)
let connection: Awaited<ReturnType<typeof connectWith>>

beforeAll(async () => {
  connection = await connectWith(rows)
})
afterAll(async () => {
  await connection[Symbol.asyncDispose]()
})

async function readPage(request: SearchRequest): Promise<{ keys: number[]; uids: string[]; total: number }> {
  const plan = buildSearchPlan(request, resource)
  const where = sql.join([sql`true`, ...plan.where], sql` and `)
  const found = await sql<{ key: number; uid: string }>`
    select r.key, r.uid from thing as r where ${where}
    order by ${sql.join(plan.order)} limit ${plan.limit} offset ${plan.offset}`.execute(connection.db)
  const counted = await sql<{ total: number }>`select count(*) as total from thing as r where ${where}`.execute(
    connection.db,
  )
  return {
    keys: found.rows.map(({ key }) => key),
    uids: found.rows.map(({ uid }) => uid),
    total: counted.rows[0]!.total,
  }
}

/** Filters, and the rows that they match. */
const filters: [string[], (row: Row) => boolean][] = [
  [[], () => true],
  [['size:ge:0'], ({ size }) => size !== null && size >= 0],
  [['status:ne:ACTIVE', 'disabled:eq:false'], ({ status, disabled }) => status !== 'ACTIVE' && disabled === false],
  [['size:gt:1000'], () => false],
]

describe('the pages of a search', () => {
  it('contain every row once and in order, and add up to the total', async () => {
    for (let round = 0; round < 60; round++) {
      const order = someOrder(random)
      const [filter, matches] = pick(random, filters)
      const pageSize = pick(random, [1, 7, 50, 256, 257, 1000])
      const expected = rows
        .filter(matches)
        .toSorted(compareBy(order))
        .map(({ key }) => key)
      const last = Math.min(Math.ceil(expected.length / pageSize) + 1, 40)
      const seen: number[] = []
      for (let number = 1; number <= last; number++) {
        const { keys, total } = await readPage({ filter, order, paging: { page: number, pageSize } })
        expect(total).toBe(expected.length)
        expect(keys).toHaveLength(Math.max(0, Math.min(pageSize, total - (number - 1) * pageSize)))
        seen.push(...keys)
      }
      expect({ order, seen }).toEqual({ order, seen: expected.slice(0, last * pageSize) })
    }
  })

  it('are replaced by one list of all rows with paging: false, up to a thousand', async () => {
    expect((await readPage({ paging: { paging: false, pageSize: 10 } })).keys).toEqual(rows.map(({ key }) => key))
  })

  it('can also be read to any depth by filtering by the last id', async () => {
    const seen: string[] = []
    for (let last: string | undefined; ; last = seen.at(-1)) {
      const { uids } = await readPage({
        ...(last && { filter: [`id:gt:${last}`] }),
        order: ['id:asc'],
        paging: { pageSize: 20 },
      })
      if (uids.length === 0) break
      seen.push(...uids)
    }
    expect(seen).toEqual(rows.map(({ id }) => id).toSorted())
  })
})
