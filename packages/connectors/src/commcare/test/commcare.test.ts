import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { visit, commcareForms, standIn } from './commcare-stand-in.ts'
import { testConnector } from '../../../test/conformance.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(commcareForms)

describe('CommCare', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  async function opened(own: object) {
    const started = await standIn(own, '/form/v1/')
    const open = await openFixture({ ...commcareForms, start: async () => started }, scratch.warehouse)
    return { open, archived: started.archived, target: open.table.replace('__form_visit', '') }
  }

  it('fills a table for each form and case type, and reads a repeat group that occurs once as a list', async () => {
    const { open, target } = await opened({ forms: [visit], caseTypes: ['pregnancy', 'depot'] })
    await using _ = open
    open.people.put({ id: 1, children: ['Ann'] })
    await open.load()
    const [row] = await rowsOf(open.table)
    expect(row).toMatchObject({
      id: 'form-00000001',
      xform_name: 'Visit',
      form_visit_code: '007',
      form_visit_weight: '51.2',
      form_visit_signs: 'fever cough',
      form_gps_latitude: '-1.29',
      form_case_case_id: 'case-1',
    })
    expect(row).not.toHaveProperty('form_visit_note')
    expect(await rowsOf(open.groupTable)).toMatchObject([{ _root_row_id: 'form-00000001', called: 'Ann' }])
    expect(await rowsOf(`${open.groupTable}__toy`)).toMatchObject([{ _root_row_id: 'form-00000001', kind: 'ball' }])
    expect(await rowsOf(`${target}__case_pregnancy`)).toMatchObject([
      { case_id: 'case-00000001', properties_number: '007', indices_parent_case_id: 'household-1' },
    ])
    expect(await rowsOf(`${target}__case_depot`)).toEqual([])
    expect(new Set((await rowsOf(target)).map((one) => one['content']))).toEqual(
      new Set(['case depot', 'case pregnancy', 'form Visit']),
    )
  })

  it('pages by timestamps, also if a page cannot hold all submissions of one timestamp', async () => {
    const { open } = await opened({ forms: [visit] })
    await using _ = open
    for (let id = 1; id <= 2_500; id += 1) open.people.put({ id }, id < 1_200 ? 100 : id < 2_300 ? 200 : 300)
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(2_500)
    expect(open.pages().some(({ query }) => query.get('offset') === '1000')).toBe(true)
  })

  it('marks archived forms in an increment, and omits them in a full read', async () => {
    const { open, archived } = await opened({ forms: [visit] })
    await using _ = open
    for (const id of [1, 2]) open.people.put({ id })
    await open.load()
    archived.add(2)
    open.people.put({ id: 2 }, 6_000)
    await open.load('INCREMENTAL')
    expect((await rowsOf(open.table)).map((row) => row['archived'])).toEqual([false, true])
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(1)
  })

  it('requires a project space to list forms', async () => {
    const { open } = await opened({ forms: [visit] })
    await using _ = open
    const reading = open.reading({ settings: { domain: undefined } })
    await expect(open.sources.listOptions('forms', reading, open.never)).rejects.toMatchObject({
      code: 'PROJECT_MISSING',
    })
    const away = { ...reading, within: '../../elsewhere' }
    await expect(open.sources.listOptions('forms', away, open.never)).rejects.toMatchObject({ code: 'PROJECT_MISSING' })
    expect(await open.sources.listOptions('domains', reading, open.never)).toHaveLength(1)
  })
})
