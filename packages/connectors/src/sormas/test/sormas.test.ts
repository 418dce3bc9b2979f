import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { openFixture } from '../../../test/connector-harness.ts'
import { sormas } from './sormas-stand-in.ts'

testConnector(sormas)

describe('SORMAS', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  it('continues after the last record of a page, also if all records have the same change date', async () => {
    await using open = await openFixture(sormas, scratch.warehouse)
    for (let id = 1; id <= 1_500; id += 1) open.people.put({ id }, 60)
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(1_500)
    expect(open.pages().map(({ path }) => path.slice('/sormas-rest/cases/all/'.length))).toEqual([
      '0/1000/NO_LAST_SYNCED_UUID',
      '1767225660000/1000/TEST01-CASE01-AAAAAA-001000',
    ])
  })

  it('converts milliseconds to timestamps, and keeps leading zeros of codes', async () => {
    await using open = await openFixture(sormas, scratch.warehouse)
    open.people.put({ id: 1, children: ['Market'] })
    await open.load()
    expect(await rowsOf(open.table)).toMatchObject([
      {
        change_date: new Date('2026-01-01T00:00:01Z'),
        report_date: new Date('2026-01-01T00:00:00Z'),
        symptoms_onset_date: new Date('1972-01-01T00:00:00Z'),
        symptoms_temperature: '38.5',
        external_id: '001',
        responsible_region_caption: 'East',
      },
    ])
    expect(await rowsOf(open.groupTable)).toMatchObject([{ start_date: new Date('2026-01-01T00:00:00Z') }])
  })

  it('starts at the configured start date', async () => {
    await using open = await openFixture(sormas, scratch.warehouse)
    await open.load('FULL', open.never, { settings: { startDate: '2026-02-01' } })
    expect(open.pages()[0]!.path).toContain(`/all/${Date.UTC(2026, 1, 1)}/1000/`)
  })

  it('doubles the page size if a full page does not advance the change date, and fails at a limit', async () => {
    await using open = await openFixture(sormas, scratch.warehouse)
    const settings = { startDate: '2026-02-01' }
    let there = 1_500
    open.server.fault = (request) => {
      if (!open.isPageRequest(request)) return undefined
      const size = Math.min(there, Number(request.path.split('/')[5]))
      return { body: Array.from({ length: size }, (_, id) => ({ uuid: `U-${id}`, changeDate: 1_000_000 + id })) }
    }
    await open.load('FULL', open.never, { settings })
    expect(await rowsOf(open.table)).toHaveLength(1_500)
    expect(open.pages().map(({ path }) => path.split('/')[5])).toEqual(['1000', '2000'])
    there = Infinity
    await expect(open.load('FULL', open.never, { settings })).rejects.toMatchObject({ code: 'OTHER_PROTOCOL' })
  })
})
