import { describe, expect, it } from '@jest/globals'
import { listDateRanges } from '../bhima.ts'
import { readJsonRecords } from '../json-records.ts'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { bhima, standIn } from './bhima-stand-in.ts'
import { testConnector } from '../../../test/conformance.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(bhima)

describe('BHIMA', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  async function opened(own: object) {
    const started = await standIn(own)
    return await openFixture({ ...bhima, start: async () => started }, scratch.warehouse)
  }

  it('fills a table for each resource of its project, also for an empty list', async () => {
    await using open = await opened({ resources: ['PATIENTS', 'VISITS', 'DEPOTS'] })
    open.people.put({ id: 1, children: ['one', 'another project'] })
    await open.load()
    expect(await rowsOf(open.table)).toMatchObject([
      { hospital_no: '01', registration_date: new Date('2026-01-01T00:00:01Z'), project_id: 1 },
    ])
    expect(await rowsOf(open.table.replace('patients', 'visits'))).toMatchObject([{ project_id: 1 }])
    expect(await rowsOf(open.table.replace('patients', 'depots'))).toEqual([])
    await open.load('INCREMENTAL')
    expect(open.messages.join()).toContain('the source does not report changes')
  })

  it('requests stock movements month by month, and keeps equal rows', async () => {
    const days = { startDate: '2026-01-31', endDate: '2026-03-04' }
    await using open = await opened({ resources: ['STOCK_LOT_MOVEMENTS'], ...days })
    await open.load()
    const rows = await rowsOf(open.table.replace('patients', 'stock_lot_movements'))
    expect(rows.map((row) => [row['label'], row['quantity']]).toSorted()).toEqual([
      ['000123', 10],
      ['000123', 11],
      ['000123', 12],
    ])
    expect(open.pages().map(({ query }) => [query.get('dateFrom'), query.get('dateTo')])).toEqual([
      ['2026-01-31', '2026-01-31'],
      ['2026-02-01', '2026-02-28'],
      ['2026-03-01', '2026-03-04'],
    ])
  })

  it('loads both sides of a movement, and lots of all origins in all depots', async () => {
    await using open = await opened({ resources: ['STOCK_MOVEMENTS', 'STOCK_LOTS'] })
    await open.load()
    const movements = await rowsOf(open.table.replace('patients', 'stock_movements'))
    expect(movements.map(({ is_exit, cost }) => [is_exit, cost]).toSorted()).toEqual([
      [0, 5],
      [0, 7],
      [0, 9],
      [1, 3],
      [1, 7],
    ])
    const lots = await rowsOf(open.table.replace('patients', 'stock_lots'))
    expect(lots.map(({ label }) => label).toSorted()).toEqual(['bought', 'bought', 'given'])
    expect(open.rejected).toEqual([])
  })

  it('lists the projects before one is selected', async () => {
    await using open = await opened({ resources: ['PATIENTS'] })
    const reading = open.reading({ settings: { project: undefined } })
    const found = await open.sources.listOptions('projects', reading, open.never)
    expect(found).toEqual([
      { id: '1', code: '1', name: 'Hopital A' },
      { id: '2', code: '2', name: 'Hopital B' },
    ])
  })
})

describe('date ranges', () => {
  it.each([
    [{}, [{}]],
    [{ endDate: '2026-02-03' }, [{ end: '2026-02-03' }]],
    [{ startDate: '2026-02-03', endDate: '2026-02-03' }, [{ start: '2026-02-03', end: '2026-02-03' }]],
    [{ startDate: '2025-12-31' }, [{ start: '2025-12-31', end: '2025-12-31' }, { start: '2026-01-01' }]],
    [{ startDate: '2027-01-01' }, [{ start: '2027-01-01' }]],
  ])('are split into months: %j', (days, parts) => {
    expect(listDateRanges(days, '2026-01-15')).toEqual(parts)
  })
})

describe('jsonRecords', () => {
  async function members(text: string, size: number): Promise<unknown[]> {
    const bytes = Buffer.from(text)
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const found: unknown[] = []
    for await (const some of readJsonRecords(chunks(), 'BHIMA')) found.push(...some)
    return found
  }

  it.each([1, 2, 7, 1_000])('returns the same as JSON.parse, in chunks of %i bytes', async (size) => {
    const list = [{ a: 'é,]}"\\', b: [1, { c: [] }] }, null, 'x,y', 3.5, [], { d: '\\"' }]
    expect(await members(` ${JSON.stringify(list, null, 1)}\n`, size)).toEqual(list)
    expect(await members('[]', size)).toEqual([])
  })

  it.each(['', '{}', '{"a":1}', '[1,', '[1', '[x]', '[1]]', '[1][2]', 'null'])('rejects %j', async (text) => {
    await expect(members(text, 3)).rejects.toMatchObject({ code: 'OTHER_PROTOCOL' })
  })
})
