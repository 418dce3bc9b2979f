import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { googleSheets, standIn, apiKey, type Sheet } from './google-sheets-stand-in.ts'
import { openFixture, type FixtureHarness } from '../../../test/connector-harness.ts'

testConnector(googleSheets)

const cases: Sheet = {
  title: "Cases of '26",
  rows: [
    [],
    ['facility', 'Day', null, 'facility', 'at', 'share', 'seen'],
    ['007', { days: 46_023, type: 'DATE' }, null, 'x', { days: 46_023.75, type: 'DATE_TIME' }, 0.125, true],
    [],
    ['008', { days: 1, type: 'DATE' }, 'unnamed', '', null, 'ERROR!'],
    ['009', { days: 46_024, type: 'DATE' }, null, null, null, null, null, 5],
  ],
}

describe('Google Sheets', () => {
  const scratch = scratchWarehouseForAll()
  let open: FixtureHarness
  let started: Awaited<ReturnType<typeof standIn>>
  beforeAll(async () => {
    started = await standIn([cases, { title: 'Empty', rows: [] }])
    open = await openFixture({ ...googleSheets, start: async () => started }, scratch.warehouse)
  })
  afterAll(() => open?.[Symbol.asyncDispose]())

  const settings = (more: object) => ({ ...open.settings, ...more })
  const tried = (more: object, secrets = open.secrets) =>
    open.sources.testConnection(open.reading({ settings: settings(more), secrets }), open.never)
  const load = async (more: object) => {
    await scratch.superuser.query(`drop table if exists health.${open.table}`)
    await open.load('FULL', open.never, { settings: settings(more) })
    const text = `select to_jsonb(t) as row from health.${open.table} t order by _row`
    return (await scratch.superuser.query(text)).rows.map((one) => (one as { row: object }).row)
  }

  it('loads rows of any length, missing or duplicate column names, and serial dates', async () => {
    const none = { column_3: null, facility_2: null, at: null, share: null, seen: null, column_8: null }
    expect(await load({ sheet: cases.title })).toEqual([
      {
        ...none,
        _row: 3,
        facility: '007',
        day: '2026-01-01',
        facility_2: 'x',
        at: expect.stringMatching(/^2026-01-01T18:00:00/),
        share: 0.125,
        seen: true,
      },
      { ...none, _row: 5, facility: '008', day: '1899-12-31', column_3: 'unnamed' },
      { ...none, _row: 6, facility: '009', day: '2026-01-02', column_8: 5 },
    ])
  })

  it('loads a range of cells without a header row, and rejects an invalid range', async () => {
    expect(await load({ sheet: cases.title, range: 'A3:B5', headerRow: false })).toEqual([
      { _row: 3, column_1: '007', column_2: '2026-01-01' },
      { _row: 5, column_1: '008', column_2: '1899-12-31' },
    ])
    await expect(open.load('FULL', open.never, { settings: settings({ range: 'C9:A1' }) })).rejects.toMatchObject({
      code: 'RANGE_INVALID',
      message: expect.stringContaining('Enter the upper left cell first'),
    })
  })

  it('names other sheets that have rows, unless a sheet was selected', async () => {
    const unread = async (more: object) => {
      for await (const rowStream of open.sources.read(
        open.reading({ settings: settings(more) }),
        open.report,
        open.never,
      ))
        return rowStream.unread
    }
    expect(await unread({})).toBe(
      `Only the sheet "People's list" was read. These sheets also have rows: "Cases of '26". Select the sheet to read in the setting sheet.`,
    )
    expect(await unread({ sheet: 'Empty' })).toBeUndefined()
  })

  it('lists the existing sheets if the selected sheet does not exist', async () => {
    expect(await tried({ sheet: 'Nothing' })).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/no sheet "Nothing": it has "People's list", "Cases of '26", "Empty"/),
    })
  })

  it('reads a public sheet with an API key, and rejects a wrong or missing key', async () => {
    expect(await tried({}, { authToken: apiKey })).toBeUndefined()
    expect(await tried({}, { authToken: 'another-key' })).toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      message: expect.stringMatching(/rejected the API key\. Check that it/),
    })
    expect(await tried({}, {})).toMatchObject({ code: 'CREDENTIALS_MISSING' })
  })

  it('fails with AUTHENTICATION_FAILED if Google rejects the service account key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    expect(await tried({}, { serviceAccountKey: started.keyFile(pem) })).toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      message: expect.stringMatching(/rejected by Google\. Check .* It says: Invalid JWT Signature/),
    })
  })
})
