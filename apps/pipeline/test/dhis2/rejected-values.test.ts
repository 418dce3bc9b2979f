import { describe, expect, it } from '@jest/globals'
import { firstAnswer, standInForEach } from './dhis2-stand-in-per-test.ts'
import { columnsOf, fine, pushed } from './push-fixtures.ts'

const { start } = standInForEach()

describe('values that DHIS2 rejects', () => {
  const rows = [
    ['f7n9E0hX8qk', '202601', 'unit1', 5],
    ['f7n9E0hX8qk', '202601', 'unit2', 'many'],
    ['f7n9E0hX8qk', '202601', 'missing1', 5],
    ['nowhere', '202601', 'unit1', 5],
    ['f7n9E0hX8qk', '202602', 'unit2', 'many'],
  ]

  it.each([
    ['2.36.12', 'the bare import summary of versions before 2.38, with conflicts by object', false],
    ['2.41.3', 'a web message with status 409, with the other values stored', true],
  ])('are recorded row by row with DHIS2 %s: %s', async (version, _form, codes) => {
    const dhis2 = await start({ version })
    const { result, rejected, told } = await pushed(dhis2, { rows })
    expect(result).toMatchObject({ sent: 5, imported: 1, ignored: 4, rejected: 4 })
    expect(told.rejected).toBe(4)
    const found = rejected.toSorted((one, other) => one.line - other.line)
    expect(found.map(({ line, reason }) => [line, reason])).toEqual([
      [2, codes ? 'E7619: Data value is not numeric' : 'Data value is not numeric'],
      [3, codes ? 'E7612: Organisation unit not found: missing1' : 'Organisation unit not found: missing1'],
      [4, codes ? 'E7610: Data element not found or not accessible' : 'Data element not found or not accessible'],
      [5, codes ? 'E7619: Data value is not numeric' : 'Data value is not numeric'],
    ])
    expect(found[0]).toMatchObject({
      ...(codes && { column: 'value' }),
      raw: '{"dataElement":"f7n9E0hX8qk","period":"202601","orgUnit":"unit2","value":"many"}',
    })
    expect(dhis2.stored.size).toBe(1)
  })

  it('are recorded with DHIS2 2.43, where values are sent grouped by the data sets of their elements', async () => {
    const dhis2 = await start({ version: '2.43.0' })
    const { result, rejected } = await pushed(dhis2, { rows: [...rows, ['UOlfIjgN8X6', '202601', 'unit1', 'fine']] })
    expect(dhis2.imports().map(({ body, query }) => [JSON.parse(body).dataSet, query.get('dataSetIdScheme')])).toEqual([
      ['BfMAe6Itzgt', 'UID'],
      ['lyLU2wR22tC', 'UID'],
    ])
    expect(result).toMatchObject({ rows: 6, sent: 5, imported: 0, updated: 2, rejected: 4 })
    expect(rejected.find(({ line }) => line === 4)).toMatchObject({
      column: 'dataElement',
      reason: 'Data element nowhere is in no data set that the DHIS2 user can read. Add it to one.',
    })
  })

  it('do not need a data set lookup if the view has a data set column', async () => {
    const dhis2 = await start({ version: '2.43.0' })
    const columns = columnsOf('dx', 'pe', 'ou', 'value', 'data_set')
    await pushed(dhis2, { columns, rows: [['f7n9E0hX8qk', '202601', 'unit1', 5, 'BfMAe6Itzgt']] })
    expect(dhis2.requests.map(({ path }) => path)).not.toContain('/dhis/api/dataSets')
    expect(JSON.parse(dhis2.imports()[0]!.body).dataSet).toBe('BfMAe6Itzgt')
  })

  it('are matched in reasonable time for 9,000 rows and 5,000 conflicts', async () => {
    const conflicts = Array.from({ length: 5_000 }, (_, index) => ({ object: '202601', value: `Reason ${index}` }))
    const body = { status: 'WARNING', importCount: { imported: 0, ignored: 9_000, updated: 0, deleted: 0 }, conflicts }
    const dhis2 = await start(firstAnswer({ status: 409, body }))
    const { result, rejected } = await pushed(dhis2, { rows: fine(9_000) })
    expect([result.rejected, rejected.length]).toEqual([9_000, 20_000])
  })
})
