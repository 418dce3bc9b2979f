import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { startDhis2, dhis2Events } from './dhis2-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { parsePeriod } from '../data-values.ts'

const scratch = scratchWarehouseForAll()
const rowsOf = async (table: string) => (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows

const content = (own: object, version = '2.41.3'): ConnectorFixture => ({
  ...dhis2Events(version),
  async start() {
    const { apiSource, ...started } = await startDhis2(version)
    return { ...started, settings: { type: 'SOURCE_SYSTEM_C', apiSource, ...own }, isPageRequest: () => true }
  },
})

describe('DHIS2', () => {
  it.each(['2.38.7', '2.40.0', '2.41.3', '2.42.1'])('loads events page by page from version %s', async (version) => {
    await using open = await openFixture(dhis2Events(version), scratch.warehouse)
    open.people.generated = 1_001
    await open.load()
    const rows = await rowsOf(open.table)
    expect(rows).toHaveLength(1_001)
    expect(rows[0]).toMatchObject({ event: 'Event000001', age: 1, geometry_latitude: '8.13' })
    expect(open.pages().map(({ query }) => query.get('page'))).toEqual(['1', '2', '3'])
    const contents = await rowsOf(open.target)
    expect(contents).toEqual([{ table_name: open.table, content: 'Visit', rows_read: '1001' }])
  })

  it('splits analytics queries above the row limit, and adds names', async () => {
    const own = {
      content: 'ANALYTICS',
      dataElements: ['a', 'b', 'c'],
      periods: ['202601', '202602'],
      orgUnits: ['LEVEL-2'],
    }
    await using open = await openFixture(content(own), scratch.warehouse)
    await open.load()
    const rows = await rowsOf(open.target)
    expect(rows).toHaveLength(6)
    expect(rows[0]).toMatchObject({ dx: 'a', pe: '202601', ou: 'LEVEL-2', value: '3410.50', dx_name: 'Name of a' })
    expect(open.messages.join()).toContain('so it is split in two')
    await open.load('INCREMENTAL')
    expect(open.messages.join()).toContain('the source does not report changes')
  })

  it('loads organisation units with a column for each level, and later their changes', async () => {
    await using open = await openFixture(content({ content: 'ORGANISATION_UNITS' }), scratch.warehouse)
    const table = open.target
    for (const id of [1, 2]) open.people.put({ id })
    await open.load()
    open.people.put({ id: 2, name: 'Renamed' }, 9_000)
    await open.load('INCREMENTAL')
    expect(await rowsOf(table)).toMatchObject([
      {
        id: 'Unit0000001',
        name: 'Person 1',
        uidlevel1: 'ImspTQPwCqd',
        uidlevel2: 'Unit0000001',
        geometry_longitude: '-11.42',
      },
      { name: 'Renamed' },
    ])
  })

  it('loads a table for each kind of metadata, with child tables for lists', async () => {
    const own = { content: 'METADATA', metadata: ['DATA_ELEMENTS', 'DATA_SETS'] }
    await using open = await openFixture(content(own), scratch.warehouse)
    await open.load()
    const target = open.target
    expect(await rowsOf(`${target}__data_elements`)).toHaveLength(3)
    const members = await rowsOf(`${target}__data_sets__data_set_elements`)
    expect(members.map((row) => [row['_root_row_id'], row['data_element_id']])).toEqual([
      ['BfMAe6Itzgt', 'qrur9Dvnyt5'],
      ['BfMAe6Itzgt', 'oZg33kd9taw'],
      ['BfMAe6Itzgt', 'GieVkTxp4HH'],
    ])
  })

  it('requests data values month by month for the organisation units of the account', async () => {
    const own = { content: 'DATA_VALUES', dataSets: ['BfMAe6Itzgt'], startDate: '2026-01-15', endDate: '2026-03-02' }
    await using open = await openFixture(content(own), scratch.warehouse)
    open.people.put({ id: 1, name: '0012.50' })
    open.people.put({ id: 2, name: '12.50' })
    await open.load()
    const asked = open.server.requests.filter(({ path }) => path.endsWith('.csv')).map(({ query }) => query)
    expect(asked.map((query) => [query.get('startDate'), query.get('endDate'), query.get('orgUnit')])).toEqual([
      ['2026-01-15', '2026-01-31', 'ImspTQPwCqd'],
      ['2026-02-01', '2026-02-28', 'ImspTQPwCqd'],
      ['2026-03-01', '2026-03-02', 'ImspTQPwCqd'],
    ])
    const [first, second] = await rowsOf(open.target)
    expect(first).toMatchObject({
      value: '0012.50',
      value_number: null,
      comment: 'said "so",\nand more',
      deleted: false,
    })
    expect(second).toMatchObject({ value: '12.50', value_number: '12.50', period_type: 'Monthly' })
  })

  it('fails the connection test if the server is not DHIS2', async () => {
    await using open = await openFixture(dhis2Events('2.42.1'), scratch.warehouse)
    open.server.fault = ({ path }) => (path.endsWith('/system/info') ? { body: { status: 'UP' } } : undefined)
    const wrong = await open.sources.testConnection(open.reading(), open.never)
    expect(wrong).toMatchObject({ code: 'OTHER_PROTOCOL', message: expect.stringContaining('DHIS2') })
  })
})

describe('parsePeriod', () => {
  it.each([
    ['20260131', 'Daily', '2026-01-31', '2026-01-31'],
    ['2026W1', 'Weekly', '2025-12-29', '2026-01-04'],
    ['2026SunW2', 'Weekly', '2026-01-11', '2026-01-17'],
    ['2026BiW2', 'BiWeekly', '2026-01-12', '2026-01-25'],
    ['202602', 'Monthly', '2026-02-01', '2026-02-28'],
    ['202602B', 'BiMonthly', '2026-03-01', '2026-04-30'],
    ['2026Q4', 'Quarterly', '2026-10-01', '2026-12-31'],
    ['2026S2', 'SixMonthly', '2026-07-01', '2026-12-31'],
    ['2026AprilS2', 'SixMonthlyApril', '2026-10-01', '2027-03-31'],
    ['2026NovS1', 'SixMonthlyNov', '2025-11-01', '2026-04-30'],
    ['2026', 'Yearly', '2026-01-01', '2026-12-31'],
    ['2026July', 'FinancialJuly', '2026-07-01', '2027-06-30'],
  ])('%s is %s, from %s to %s', (period, type, start, end) => expect(parsePeriod(period)).toEqual({ type, start, end }))

  it('returns undefined for an invalid period', () => expect(parsePeriod('LAST_12_MONTHS')).toBeUndefined())
})
