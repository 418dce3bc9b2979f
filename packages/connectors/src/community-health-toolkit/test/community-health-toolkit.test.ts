import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { communityHealthToolkit, standIn } from './community-health-toolkit-stand-in.ts'
import { testConnector } from '../../../test/conformance.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(communityHealthToolkit)

describe('the Community Health Toolkit', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  async function opened(own: object = {}) {
    const started = await standIn(own)
    const open = await openFixture({ ...communityHealthToolkit, start: async () => started }, scratch.warehouse)
    for (const id of [1, 2]) open.people.put({ id })
    return { open, deleted: started.deleted, target: open.table.replace('__contact_c62_person', '') }
  }

  it('loads reports and contacts, with a table for each form and kind of contact', async () => {
    const { open, target } = await opened()
    await using _ = open
    await open.load()
    expect((await rowsOf(target)).map((row) => [row['_id'], row['form'], row['deleted']])).toEqual([
      ['person-00000001', null, false],
      ['person-00000002', null, false],
      ['report-1', 'pregnancy', false],
    ])
    const [report] = await rowsOf(`${target}__report_pregnancy`)
    expect(report).toMatchObject({
      _root_row_id: 'report-1',
      reported_date: new Date('2026-01-01T10:00:00Z'),
      contact_id: 'chw1',
      contact_parent_id: 'area1',
      fields_patient_id: '01',
      geolocation_latitude: '-1.3',
    })
    expect(await rowsOf(`${target}__report_pregnancy__fields_signs`)).toMatchObject([{ sign: 'fever' }])
    expect(await rowsOf(open.table)).toMatchObject([{ parent_parent_id: 'center-1', patient_id: '01' }, {}])
  })

  it('loads only the selected forms, and creates the table of a form before its first report', async () => {
    const { open, target } = await opened({ forms: ['delivery'], contacts: false })
    await using _ = open
    await open.load()
    expect(await rowsOf(target)).toEqual([])
    expect(await rowsOf(`${target}__report_delivery`)).toEqual([])
  })

  it('marks deleted documents in an increment, and omits them in a full read', async () => {
    const { open, deleted, target } = await opened()
    await using _ = open
    await open.load()
    deleted.set(2, 6_000)
    await open.load('INCREMENTAL')
    const deletedColumn = await rowsOf(target)
    expect(deletedColumn.map((row) => [row['_id'], row['deleted']])).toEqual([
      ['person-00000001', false],
      ['person-00000002', true],
      ['report-1', false],
    ])
    await open.load()
    expect((await rowsOf(open.table)).map((row) => row['_root_row_id'])).toEqual(['person-00000001'])
  })
})
