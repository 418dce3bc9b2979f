import { describe, expect, it } from '@jest/globals'
import type { RowCell } from '@sluice/warehouses/warehouse'
import { type Dhis2StandIn, token } from './dhis2-stand-in.ts'
import { columnsOf, fine, pagesOf, pushed, usual } from './push-fixtures.ts'
import { standInForEach } from './dhis2-stand-in-per-test.ts'

const { start } = standInForEach()

describe('rows of a view pushed to DHIS2', () => {
  it('become data values by case-insensitive column names, with optional fields and without exponents', async () => {
    const dhis2 = await start()
    const columns = columnsOf(
      'Data_Element',
      'PE DATE',
      'ou',
      'Category_Option_Combo',
      'attroptcombo',
      'VALUE DOUBLE',
      'comment',
      'followUp BOOLEAN',
      'region',
    )
    const { result, log } = await pushed(dhis2, {
      columns,
      rows: [
        ['f7n9E0hX8qk', '2026-01-31', 'unit1', 'coc', 'aoc', 1.5e21, 'from a view', true, 'north'],
        ['f7n9E0hX8qk', '2026-01-31', 'unit2', null, null, -2.5e-7, null, false, 'south'],
      ],
    })
    const [{ body, query }] = dhis2.imports() as [Dhis2StandIn['requests'][number]]
    expect(JSON.parse(body)).toEqual({
      dataValues: [
        {
          dataElement: 'f7n9E0hX8qk',
          period: '20260131',
          orgUnit: 'unit1',
          categoryOptionCombo: 'coc',
          attributeOptionCombo: 'aoc',
          value: '1500000000000000000000',
          comment: 'from a view',
          followUp: true,
        },
        { dataElement: 'f7n9E0hX8qk', period: '20260131', orgUnit: 'unit2', value: '-0.00000025', followUp: false },
      ],
    })
    expect([...query]).toEqual([
      ['dryRun', 'false'],
      ['importStrategy', 'CREATE_AND_UPDATE'],
    ])
    expect(result).toMatchObject({ rows: 2, sent: 2, imported: 2, updated: 0, rejected: 0 })
    expect(log.join()).toContain('no such fields: region.')
  })

  it('keep the exact digits, booleans, dates, timestamps and JSON', async () => {
    const dhis2 = await start()
    const values: [type: string, cell: RowCell, sent: string][] = [
      ['BIGINT', '9007199254740993', '9007199254740993'],
      ['DECIMAL', '0.10', '0.10'],
      ['INTEGER', 0, '0'],
      ['BOOLEAN', false, 'false'],
      ['DATE', '2026-01-31', '2026-01-31'],
      ['TIMESTAMP', '2026-01-31 12:30:00', '2026-01-31T12:30:00'],
      ['TIMESTAMPTZ', '2026-01-31 12:30:00+00', '2026-01-31T12:30:00Z'],
      ['JSONB', { type: 'Point' }, '{"type":"Point"}'],
    ]
    for (const [type, cell] of values) {
      const columns = columnsOf('dx', 'pe INTEGER', 'ou', `value ${type}`)
      await pushed(dhis2, { columns, rows: [['UOlfIjgN8X6', 202601, 'unit1', cell]] })
    }
    const sent = dhis2.imports().map(({ body }) => JSON.parse(body).dataValues[0])
    expect(sent.map(({ value }) => value)).toEqual(values.map(([, , text]) => text))
    expect(sent[0].period).toBe('202601')
  })

  it('are refused before any request if a required column is missing or two columns mean the same field', async () => {
    const dhis2 = await start()
    await expect(pushed(dhis2, { columns: columnsOf('dx', 'pe', 'name'), rows: fine(1) })).rejects.toMatchObject({
      code: 'COLUMN_MISSING',
      message:
        'The view has no column named org_unit and value. Add them to the view\'s query. Its columns are "dx", "pe", "name". Nothing was sent.',
    })
    await expect(pushed(dhis2, { columns: columnsOf('dx', 'data_element'), rows: [] })).rejects.toMatchObject({
      code: 'COLUMN_TWICE',
    })
    expect(dhis2.requests).toEqual([])
  })

  it('are skipped if they have no value, and rejected if they lack a required field', async () => {
    const dhis2 = await start()
    const { result, rejected } = await pushed(dhis2, {
      rows: [...fine(2), ['f7n9E0hX8qk', '202601', 'unit9', null], ['f7n9E0hX8qk', null, 'unit9', 3]],
    })
    expect(result).toMatchObject({ rows: 4, sent: 2, empty: 1, rejected: 1 })
    expect(rejected).toEqual([
      {
        line: 4,
        column: 'period',
        reason: 'The row has no period.',
        raw: '{"dataElement":"f7n9E0hX8qk","orgUnit":"unit9","value":"3"}',
      },
    ])
  })

  it('are sent in chunks, each with the import options, and a dry run stores nothing', async () => {
    const dhis2 = await start()
    const options = { dataElementIdScheme: 'CODE', orgUnitIdScheme: 'NAME', idScheme: 'UID', dryRun: true }
    const rows = fine(25_000).map(([, ...rest]) => ['DE_ANC1', ...rest])
    const { result, told } = await pushed(dhis2, { rows, options })
    expect(dhis2.imports().map(({ body }) => JSON.parse(body).dataValues.length)).toEqual([10_000, 10_000, 5_000])
    for (const { query } of dhis2.imports())
      expect(Object.fromEntries(query)).toMatchObject({ ...options, dryRun: 'true' })
    expect(result).toMatchObject({ rows: 25_000, imported: 25_000 })
    expect(told).toEqual({ rowsRead: 25_000, bytesRead: result.bytes, rejected: 0 })
    expect(dhis2.stored.size).toBe(0)
  })

  it('are read at most one page ahead of the chunk being sent', async () => {
    let read = 0
    async function* pages() {
      for await (const page of pagesOf(usual, fine(60_000))) {
        read += page.rows.length
        yield page
      }
    }
    const ahead: number[] = []
    const dhis2 = await start({
      instead: ({ method }) => {
        if (method === 'POST') ahead.push(read - dhis2.stored.size)
        return undefined
      },
    })
    await pushed(dhis2, { rows: [], pages: pages() })
    // A chunk on its way, and the page that the next one begins with.
    expect([ahead.length, Math.max(...ahead)]).toEqual([6, 12_000])
  })

  it('are stored unchanged when they are pushed again', async () => {
    const dhis2 = await start()
    await pushed(dhis2, { rows: fine(30) })
    const once = [...dhis2.stored]
    const { result } = await pushed(dhis2, { rows: fine(30) })
    expect([result.imported, result.updated, [...dhis2.stored]]).toEqual([0, 30, once])
  })
})

describe('DHIS2 authentication', () => {
  it('works with a token and no username', async () => {
    const dhis2 = await start()
    await pushed(dhis2, { rows: fine(1), target: { url: `${dhis2.url}/api/`, authToken: token } })
    expect(new Set(dhis2.requests.map(({ authorization }) => authorization))).toEqual(new Set([`ApiToken ${token}`]))
  })

  it('fails without credentials or without the authority to import', async () => {
    const dhis2 = await start({ authorities: ['M_dhis-web-dashboard'] })
    await expect(pushed(dhis2, { rows: fine(1), target: { url: dhis2.url } })).rejects.toMatchObject({
      code: 'CREDENTIALS_MISSING',
    })
    await expect(pushed(dhis2, { rows: fine(1) })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('F_DATAVALUE_ADD'),
    })
  })
})
