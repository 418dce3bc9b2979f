import { afterEach, describe, expect, it } from '@jest/globals'
import type { Cell } from '../../src/engine/warehouses/warehouse.ts'
import { columnsOf, fine, pagesOf, pushed, usual } from './pushed.ts'
import { credentials, type Dhis2StandIn, type Instead, startDhis2, token } from './dhis2-stand-in.ts'

let standIn: Dhis2StandIn | undefined
afterEach(() => standIn?.stop())

const start = async (...given: Parameters<typeof startDhis2>) => (standIn = await startDhis2(...given))
const first = (answer: Instead, path = '/dhis/api/dataValueSets') => ({
  instead: ({ path: asked }: { path: string }, count: number) => (asked === path && count === 1 ? answer : undefined),
})

describe('the rows of a view', () => {
  it('become data values: by names of columns in any case, as texts without exponents, with what else a value may have', async () => {
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
    expect(log.join()).toContain('left out: region.')
  })

  it('keep digits, words and moments as they are', async () => {
    const dhis2 = await start()
    const values: [type: string, cell: Cell, sent: string][] = [
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

  it('are refused before anything is asked where a column is missing, or two mean the same', async () => {
    const dhis2 = await start()
    await expect(pushed(dhis2, { columns: columnsOf('dx', 'pe', 'name'), rows: fine(1) })).rejects.toMatchObject({
      code: 'COLUMN_MISSING',
      message:
        'The view has no column for org_unit and value: name them so in the view\'s query. Its columns are "dx", "pe", "name". Nothing was sent.',
    })
    await expect(pushed(dhis2, { columns: columnsOf('dx', 'data_element'), rows: [] })).rejects.toMatchObject({
      code: 'COLUMN_TWICE',
    })
    expect(dhis2.requests).toEqual([])
  })

  it('without a value are skipped and counted, and those that lack what every value needs are set aside', async () => {
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

  it('go in chunks, and the import options with each; a dry run stores nothing', async () => {
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

  it('are read only as fast as they are taken', async () => {
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

  it('end equal when they are pushed again', async () => {
    const dhis2 = await start()
    await pushed(dhis2, { rows: fine(30) })
    const once = [...dhis2.stored]
    const { result } = await pushed(dhis2, { rows: fine(30) })
    expect([result.imported, result.updated, [...dhis2.stored]]).toEqual([0, 30, once])
  })
})

describe('what DHIS2 says of single values', () => {
  const rows = [
    ['f7n9E0hX8qk', '202601', 'unit1', 5],
    ['f7n9E0hX8qk', '202601', 'unit2', 'many'],
    ['f7n9E0hX8qk', '202601', 'missing1', 5],
    ['nowhere', '202601', 'unit1', 5],
    ['f7n9E0hX8qk', '202602', 'unit2', 'many'],
  ]

  it.each([
    ['2.36.12', 'The bare summary of before 2.38, whose conflicts name objects', false],
    ['2.41.3', 'a web message with status 409 although the rest is stored', true],
  ])('by %s is kept row by row: %s', async (version, _form, codes) => {
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

  it('by 2.43 comes with status 200, after values were sent by the data sets that their elements are in', async () => {
    const dhis2 = await start({ version: '2.43.0' })
    const { result, rejected } = await pushed(dhis2, { rows: [...rows, ['UOlfIjgN8X6', '202601', 'unit1', 'fine']] })
    expect(dhis2.imports().map(({ body, query }) => [JSON.parse(body).dataSet, query.get('dataSetIdScheme')])).toEqual([
      ['BfMAe6Itzgt', 'UID'],
      ['lyLU2wR22tC', 'UID'],
    ])
    expect(result).toMatchObject({ rows: 6, sent: 5, imported: 0, updated: 2, rejected: 4 })
    expect(rejected.find(({ line }) => line === 4)).toMatchObject({
      column: 'dataElement',
      reason: 'Data element nowhere is in no data set that the user of DHIS2 may see.',
    })
  })

  it('is not asked for where the view names data sets itself', async () => {
    const dhis2 = await start({ version: '2.43.0' })
    const columns = columnsOf('dx', 'pe', 'ou', 'value', 'data_set')
    await pushed(dhis2, { columns, rows: [['f7n9E0hX8qk', '202601', 'unit1', 5, 'BfMAe6Itzgt']] })
    expect(dhis2.requests.map(({ path }) => path)).not.toContain('/dhis/api/dataSets')
    expect(JSON.parse(dhis2.imports()[0]!.body).dataSet).toBe('BfMAe6Itzgt')
  })

  it('does not take forever where conflicts and rows are many', async () => {
    const conflicts = Array.from({ length: 5_000 }, (_, index) => ({ object: '202601', value: `Reason ${index}` }))
    const body = { status: 'WARNING', importCount: { imported: 0, ignored: 9_000, updated: 0, deleted: 0 }, conflicts }
    const dhis2 = await start(first({ status: 409, body }))
    const { result, rejected } = await pushed(dhis2, { rows: fine(9_000) })
    expect([result.rejected, rejected.length]).toEqual([9_000, 20_000])
  }, 10_000)
})

describe('a request that DHIS2 does not take', () => {
  it.each<[string, Instead, object]>([
    ['bad credentials', { status: 401, body: { message: 'Bad credentials' } }, { code: 'AUTHENTICATION_FAILED' }],
    ['a missing right', { status: 403, body: { message: 'Access is denied' } }, { code: 'PERMISSION_DENIED' }],
    ['a wrong path', { status: 404, body: 'not here' }, { code: 'NOT_FOUND' }],
    ['a wrong question', { status: 400, body: { message: 'Bad request' } }, { code: 'TARGET_REFUSED' }],
    [
      'a conflict without a summary',
      { status: 409, body: { status: 'ERROR', message: 'User has no write access', errorCode: 'E2014' } },
      { code: 'TARGET_REFUSED', message: 'DHIS2 refuses the import. It says: E2014: User has no write access' },
    ],
    [
      'a summary of nothing but an error',
      {
        status: 409,
        body: {
          status: 'ERROR',
          message: 'The import failed',
          response: {
            responseType: 'ImportSummary',
            status: 'ERROR',
            importCount: { imported: 0, updated: 0, ignored: 0, deleted: 0 },
            conflicts: [{ object: 'dataSet', value: 'Data set is closed' }],
          },
        },
      },
      { code: 'TARGET_REFUSED', message: 'DHIS2 refuses the import. It says: The import failed Data set is closed' },
    ],
    ['a page of another system', { status: 200, body: '<html>hello</html>' }, { code: 'OTHER_PROTOCOL' }],
    ['a login page', { status: 302, headers: { location: '/login' }, body: '' }, { code: 'REDIRECTED' }],
    ['JSON of another system', { status: 200, body: { hello: 1 } }, { code: 'TARGET_REFUSED' }],
  ])('ends the push at once: %s', async (_name, answer, problem) => {
    const dhis2 = await start(first(answer))
    await expect(pushed(dhis2, { rows: fine(3) })).rejects.toMatchObject({ ...problem, retryable: false })
    expect(dhis2.imports()).toHaveLength(1)
  })

  it('is told without the password and the token, also where DHIS2 says them back', async () => {
    const said = `no ${credentials.password} ${Buffer.from(`importer:${credentials.password}`).toString('base64')}`
    const dhis2 = await start(first({ status: 403, body: { message: said } }))
    await expect(pushed(dhis2, { rows: fine(1) })).rejects.toMatchObject({
      message: expect.stringMatching(/It says: no \[redacted\] \[redacted\]$/),
    })
  })

  it.each<[string, Instead]>([
    ['429', { status: 429, headers: { 'retry-after': '1' }, body: '' }],
    ['503', { status: 503, body: 'starting' }],
    ['a broken connection', { broken: true }],
  ])('is sent again after a while: %s', async (_name, answer) => {
    const dhis2 = await start(first(answer))
    const { result, log } = await pushed(dhis2, { rows: fine(3) })
    expect(result).toMatchObject({ sent: 3, imported: 3 })
    expect(log.join()).toMatch(/next try in [12] seconds/)
  })

  it('waits as long as Retry-After says, and not longer than ten minutes', async () => {
    const dhis2 = await start(first({ status: 429, headers: { 'retry-after': '3' }, body: '' }))
    const began = Date.now()
    await pushed(dhis2, { rows: fine(1) })
    expect(Date.now() - began).toBeGreaterThanOrEqual(3_000)
    dhis2.state.instead = () => ({ status: 429, headers: { 'retry-after': '3600' }, body: '' })
    await expect(pushed(dhis2, { rows: fine(1) })).rejects.toMatchObject({ code: 'TARGET_BUSY', retryable: true })
  }, 15_000)

  it.each<[string, Instead]>([
    ['413', { status: 413, body: 'Request Entity Too Large' }],
    ['504', { status: 504, body: 'Gateway Time-out' }],
    ['no answer in time', { silent: true }],
  ])(
    'is halved while it is too much: %s',
    async (_name, answer) => {
      const dhis2 = await start({
        instead: ({ path, body }) =>
          path.endsWith('dataValueSets') && JSON.parse(body).dataValues.length > 3_000 ? answer : undefined,
      })
      const { result, log } = await pushed(dhis2, { rows: fine(12_000), importTime: 500 })
      expect([result.sent, result.imported + result.updated, dhis2.stored.size]).toEqual([12_000, 12_000, 12_000])
      expect(dhis2.imports().map(({ body }) => JSON.parse(body).dataValues.length)).toEqual([
        10_000, 5_000, 2_500, 2_500, 2_500, 2_500, 2_000,
      ])
      expect(log.join()).toContain('2500 instead of 5000')
    },
    15_000,
  )

  it('that is taken although its answer is lost is sent again without harm', async () => {
    const dhis2 = await start(first({ status: 504, body: '', taken: true }))
    const { result } = await pushed(dhis2, { rows: fine(300) })
    expect([result.sent, dhis2.stored.size]).toEqual([300, 300])
  })

  it('ends with the signal, also while it waits', async () => {
    for (const answer of [{ silent: true }, { status: 429, headers: { 'retry-after': '500' }, body: '' }]) {
      const dhis2 = await start({ instead: ({ method }) => (method === 'POST' ? answer : undefined) })
      const stopping = new AbortController()
      const push = pushed(dhis2, { rows: fine(1), importTime: 60_000, signal: stopping.signal })
      setTimeout(() => stopping.abort(new Error('cancelled')), 500)
      const began = Date.now()
      await expect(push).rejects.toThrow('cancelled')
      expect(Date.now() - began).toBeLessThan(30_000)
      await dhis2.stop()
    }
  })
})

describe('signing in', () => {
  it('goes by token, without a username', async () => {
    const dhis2 = await start()
    await pushed(dhis2, { rows: fine(1), target: { url: `${dhis2.url}/api/`, authToken: token } })
    expect(new Set(dhis2.requests.map(({ authorization }) => authorization))).toEqual(new Set([`ApiToken ${token}`]))
  })

  it('needs something to sign in with, and the right to import', async () => {
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
