import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { facilities, openlmis } from './openlmis-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(openlmis)

describe('OpenLMIS', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  it('requests requisitions facility by facility, page by page, from the start date to the end date', async () => {
    await using open = await openFixture(openlmis, scratch.warehouse)
    open.people.generated = 101
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(101)
    const asked = open
      .pages()
      .map(({ query }) => ['facility', 'initiatedDateFrom', 'initiatedDateTo', 'page'].map((key) => query.get(key)))
    expect(asked).toEqual([
      [facilities[0], '2026-01-01', '2026-12-31', '0'],
      [facilities[0], '2026-01-01', '2026-12-31', '1'],
      [facilities[1], '2026-01-01', '2026-12-31', '0'],
    ])
  })

  it('loads line items, adjustments and status changes into child tables, and keeps zeros of codes', async () => {
    await using open = await openFixture(openlmis, scratch.warehouse)
    open.people.put({ id: 1, children: ['Late'] })
    await open.load()
    const [row] = await rowsOf(open.table)
    expect(row).toMatchObject({ facility_code: '001', program_code: '01', processing_period_name: 'Jan2026' })
    expect(Object.keys(row!).filter((name) => /template|available|geographic/.test(name))).toEqual([])
    const [line] = await rowsOf(`${open.target}__requisition_line_items`)
    expect(line).toMatchObject({ orderable_product_code: '0100', beginning_balance: 10, remarks: 'Late' })
    expect(await rowsOf(`${open.target}__status_changes`)).toMatchObject([{ status: 'SUBMITTED', author_id: 'a' }])
    expect(await rowsOf(`${open.target}__requisition_line_items__stock_adjustments`)).toMatchObject([
      { _parent_row_id: line!['_row_id'], _root_row_id: row!['id'], quantity: 2 },
    ])
  })

  it('skips a requisition that is deleted during the read, and reports an unknown facility', async () => {
    await using open = await openFixture(openlmis, scratch.warehouse)
    for (const id of [1, 2]) open.people.put({ id })
    open.server.fault = ({ path }) => (path.endsWith('000001') ? { status: 404, body: {} } : undefined)
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(1)
    const lost = open.reading({ settings: { facilities: ['gone'] } })
    expect(await open.sources.testConnection(lost, open.never)).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('The facility "gone"'),
    })
  })
})
