import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { ihris } from './ihris-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(ihris)

describe('an iHRIS report', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]
  const settings = { report: 'ihris-es-report-staff', resourceTypes: undefined }

  it('has a row for each person with related data, and a child table for repeated data', async () => {
    await using open = await openFixture(ihris, scratch.warehouse)
    open.people.put({ id: 1, name: 'Doe', children: ['Asha', 'B'] })
    open.people.put({ id: 2, name: 'Gone', extra: 'left' })
    open.people.put({ id: 3, name: 'Roe' })
    await open.load('FULL', open.never, { settings })
    expect(await rowsOf(open.target)).toMatchObject([
      { _id: '1', given: 'Asha, B', family: 'Doe', nationality: 'Kenya', job: 'new job', duty_post: 'Doe' },
      { _id: '3', given: null, family: 'Roe', duty_post: 'Roe' },
    ])
    const columns = (await scratch.warehouse.catalog.findTable('health', open.target))!.columns
    expect(columns.find(({ name }) => name === 'family')).toMatchObject({ label: 'Family name', dataType: 'TEXT' })
    expect((await rowsOf(open.target)).map((row) => row['id'])).toEqual(['001', '003'])
    expect((await rowsOf(`${open.target}__history`)).map((row) => [row['_root_row_id'], row['job']])).toEqual([
      ['1', 'old job'],
      ['1', 'new job'],
      ['3', 'old job'],
      ['3', 'new job'],
    ])
  })

  it('is read in full in each run, and fails the connection test if it does not exist', async () => {
    await using open = await openFixture(ihris, scratch.warehouse)
    open.people.put({ id: 1 })
    for (const mode of ['FULL', 'INCREMENTAL'] as const) await open.load(mode, open.never, { settings })
    expect(open.messages.join()).toContain('the source does not report changes')
    const gone = open.reading({ settings: { ...settings, report: 'gone' } })
    expect(await open.sources.testConnection(gone, open.never)).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('The report "gone"'),
    })
  })
})
