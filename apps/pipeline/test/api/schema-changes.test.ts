import { isLongRun } from '@sluice/testing/long-test-runs'
import { describe, expect, it } from '@jest/globals'
import { makeWorkbook } from '@sluice/file-formats/testing/make-workbook'
import { pipelineBody } from './app-under-test.ts'
import { fileLoadsUnderTest } from './file-loads-setup.ts'

const loads = fileLoadsUnderTest(['ROLE_MANAGE_VIEW'])
const { owner, run } = loads

const made = async (changes: object = {}) =>
  (await owner.post('/data-pipelines').send(pipelineBody(loads.schema, changes)).expect(201)).body

async function load(id: string, content: string | Buffer, body: object = {}) {
  const path = `/data-pipelines/${id}`
  const { body: file } = await owner
    .post(`${path}/file?name=a.csv`)
    .type('text/csv')
    .serialize((sent) => sent as string)
    .send(content as string)
    .expect(200)
  return { file, run: await run(path, body) }
}

const columnsOf = async (id: string) => (await owner.get(`/data-pipelines/${id}/table`).expect(200)).body.columns

describe('schemaChanges of a pipeline', () => {
  it('is EVOLVE by default, and is stored and returned', async () => {
    const { id, schemaChanges } = await made()
    expect(schemaChanges).toBe('EVOLVE')
    const { body } = await owner.get(`/data-pipelines/${id}`).expect(200)
    await owner
      .put(`/data-pipelines/${id}`)
      .send({ ...body, schemaChanges: 'FAIL' })
      .expect(200)
    expect((await owner.get(`/data-pipelines/${id}`)).body.schemaChanges).toBe('FAIL')
    await owner
      .put(`/data-pipelines/${id}`)
      .send({ ...body, schemaChanges: 'SOMETIMES' })
      .expect(400)
  })

  it('determines how a load treats added and missing columns', async () => {
    const outcomes: Record<string, [string, string[]]> = {
      EVOLVE: ['WARNING', ['id', 'a', 'b', 'new']],
      IGNORE_NEW: ['WARNING', ['id', 'a', 'b']],
      FAIL: ['FAILED', ['id', 'a', 'b']],
      REPLACE: ['OK', ['id', 'a', 'new']],
    }
    for (const [schemaChanges, [status, names]] of Object.entries(outcomes)) {
      const { id } = await made({ schemaChanges })
      await load(id, 'id,a,b\n1,2,3\n')
      const { file, run } = await load(id, 'id,a,new\n1,2,9\n')
      expect([schemaChanges, run.status]).toEqual([schemaChanges, status])
      expect((await columnsOf(id)).map(({ name }: { name: string }) => name)).toEqual(names)
      const kept = ' A run would keep these columns and leave them empty.'
      const would: Record<string, [string, string?, string?]> = {
        EVOLVE: ['', kept, ' A run would add these columns to the table.'],
        IGNORE_NEW: ['', kept, ' A run would ignore these columns, because schemaChanges is IGNORE_NEW.'],
        FAIL: ['A run would fail, because schemaChanges is FAIL. '],
        REPLACE: ['A run would replace the columns of the table, because schemaChanges is REPLACE. '],
      }
      const [outcome, missing = '', added = ''] = would[schemaChanges]!
      expect(file.mismatch).toBe(
        `${outcome}Columns of the last load that the file does not have: "b".${missing} Columns that the last load did not have: "new".${added}`,
      )
    }
  })
})

describe('a file without records', () => {
  it.each([
    ['an empty JSON array', '[]'],
    ['only a header', 'id,v\n'],
  ])('such as %s empties the table, and the upload response reports it', async (_what, content) => {
    const { id } = await made()
    await load(id, 'id,v\n1,abc\n')
    const { file, run } = await load(id, content)
    expect(run).toMatchObject({ status: 'WARNING', rowsWritten: 0 })
    expect(file.mismatch).toBe('The file has no records, so a run would empty the table.')
  })
})

describe('a column whose values are all missing in the new load', () => {
  it('is named in the upload response and in the run, but not again after the next load', async () => {
    const { id, dataWarehouseTarget } = await made()
    const loads = [await load(id, 'id,v\n1,7\n2,\n')]
    for (let time = 0; time < 2; time++) loads.push(await load(id, 'id,v\n1,\n2,\n'))
    const place = `${dataWarehouseTarget.schema.schemaName}.${dataWarehouseTarget.tableName}`
    expect(loads.map(({ file }) => file.mismatch)).toEqual([
      undefined,
      'Columns without a value in any row, which had values in the last load: "v".',
      undefined,
    ])
    expect(loads.map(({ run }) => [run.status, run.message])).toEqual(
      [
        '',
        ` Column "v" of ${place} had values in the last load. It is empty in all 2 rows of this load: check the source.`,
        '',
      ].map((hint) => ['OK', `Loaded 2 rows into ${place}.${hint}`]),
    )
  })
})

describe('a column without a value in a file that is merged', () => {
  it('is named once, and keeps the values of the rows that stay', async () => {
    const { id } = await made({ writeMode: 'MERGE', mergeKey: ['id'] })
    const messages: string[] = []
    for (const content of ['id,v\n1,7\n2,8\n', 'id,v\n1,\n', 'id,v\n2,\n', 'id,v\n1,7\n'])
      messages.push((await load(id, content)).run.message.replace(/^Loaded .*?\.\S* /, ''))
    const hint = 'had values in the last load. It is empty in the only row of this load: check the source.'
    expect(messages.map((message) => message.includes(hint))).toEqual([false, true, false, false])
  })
})

describe('the schema check of an upload', () => {
  const mixed =
    '[{"id":1,"day":"2026-01-31","n":1.5,"big":12345678901,"on":true,"none":null,"list":[1]},{"id":2,"n":2e30,"text":"x"}]'
  const uploads: [what: string, first: string, next: string | Buffer, fails?: boolean][] = [
    ['rows with varying numbers of values', 'id,note\nk1,a\nk2,b\n', 'id,note\n1;2,a\n3;4\n5;6\n7;8\n'],
    ['dates with the month first', 'id,day\n1,31/01/2024\n', 'id,day\n1,01/02/2024\n2,12/25/2024\n', true],
    ['dates with the day first', 'id,day\n1,31/01/2024\n', 'id,day\n1,01/02/2024\n2,03/04/2024\n'],
    ['a decimal comma', 'id;n\n1;1.5\n', 'id;n\n1;1,5\n2;2,75\n', true],
    [
      'rows encoded in Latin-1',
      'id,name\n1,Bern\n',
      Buffer.from('id,name\n1,Z\xfcrich\n2,Gen\xe8ve\n', 'latin1'),
      true,
    ],
    ['another delimiter', 'id,name\n1,Bern\n', 'id;name\n1;Bern\n2;Basel\n'],
    ['a larger number in a column of decimals', 'id,n\n1,1.5\n', 'id,n\n1,123456.75\n'],
    ['dates in a text column', 'id,v\n1,abc\n', 'id,v\n1,2026-01-31\n'],
    ['the same JSON', mixed, mixed],
    ['values in a column that was empty before', 'id,v\n1,\n', 'id,v\n1,5\n'],
  ]
  it.each(isLongRun ? uploads : uploads.slice(0, 4))(
    'reports a mismatch if and only if the run fails: %s',
    async (_what, first, next, fails = false) => {
      const { id } = await made()
      expect((await load(id, first)).run.status).toBe('OK')
      const { file, run } = await load(id, next)
      expect(run.status === 'FAILED').toBe(fails)
      if (!fails) return expect(file).not.toHaveProperty('mismatch')
      expect(file.mismatch).toBe(`A run would fail: ${run.message}`)
    },
  )
})

describe('the upload response and the run both report', () => {
  const rows = Array.from({ length: 30 }, (_, index) => `001,Hôpital ${index + 1},3,1.5,15/02/2026`)
  const file = (...lines: string[]) => ['facility,name,visits,rate,day', ...lines].join('\n')
  const good = file(...rows)

  const refusals: [what: string, first: string, next: string, code: string, mismatch: RegExp, changes?: object][] = [
    [
      'a file without line breaks',
      good,
      good.replaceAll('\n', ' '),
      'SCHEMA_MISMATCH',
      /^A run would fail, because the source has no rows and \d+ of its \d+ columns are new\. Check the line ends of the file\. /,
    ],
    [
      'a header with half of its columns new and without rows',
      'a,b,c,d\n1,2,3,4\n',
      'a,b,x,y\n',
      'SCHEMA_MISMATCH',
      /^A run would fail, because the source has no rows and 2 of its 4 columns are new\. (?!.*would empty)/,
    ],
    [
      'a header with too few columns and without rows',
      'a,b,c,d\n1,2,3,4\n',
      'a\n',
      'SCHEMA_MISMATCH',
      /^A run would fail, because the source has one column where the last load had 4\. (?!.*would empty)/,
    ],
    [
      'ambiguous dates in a date column',
      'a,d\n1,2026-01-31\n',
      'a,d\n1,01/02/2026\n',
      'DATES_AMBIGUOUS',
      /^A run would fail, because column "d" is DATE in the table, .* ambiguous\. Write its dates as YYYY-MM-DD\.$/,
    ],
    [
      'ambiguous dates in a number column',
      'a,d\n1,7\n',
      'a,d\n1,01/02/2026\n',
      'DATES_AMBIGUOUS',
      /^A run would fail, because column "d" is SMALLINT in the table, /,
    ],
    [
      'a changed type if schemaChanges is FAIL',
      good,
      file(...rows, '001,Hôpital 31,n/a,1.5,15/02/2026'),
      'SCHEMA_MISMATCH',
      /^A run would fail, because schemaChanges is FAIL and column "visits" needs TEXT instead of SMALLINT\.$/,
      { schemaChanges: 'FAIL' },
    ],
  ]
  it.each(isLongRun ? refusals : refusals.slice(1, 4))(
    '%s',
    async (_what, first, next, errorCode, mismatch, changes = {}) => {
      const { id } = await made(changes)
      expect((await load(id, first)).run.status).toBe('OK')
      const { file: uploaded, run } = await load(id, next)
      expect(run).toMatchObject({ status: 'FAILED', errorCode })
      expect(uploaded.mismatch).toMatch(mismatch)
    },
  )

  it('a changed type, which the run applies and then keeps', async () => {
    const { id } = await made()
    await load(id, good)
    const types = async () => (await columnsOf(id)).map(({ dataType }: { dataType: string }) => dataType)
    expect(await types()).toEqual(['TEXT', 'TEXT', 'SMALLINT', 'DECIMAL', 'DATE'])
    const changed = await load(id, file(...rows, '001,Hôpital 31,n/a,1.5,15/02/2026'))
    expect(changed.file.mismatch).toBe('A run would change the type of column "visits" from SMALLINT to TEXT.')
    expect(await types()).toEqual(['TEXT', 'TEXT', 'TEXT', 'DECIMAL', 'DATE'])
    expect((await load(id, good)).file).not.toHaveProperty('mismatch')
    expect(await types()).toEqual(['TEXT', 'TEXT', 'TEXT', 'DECIMAL', 'DATE'])
  })
})

describe('a run with "rebuild"', () => {
  it('takes columns and types only from its own load', async () => {
    const { id } = await made()
    await load(id, 'id,v\n1,abc\n')
    const { file, run } = await load(id, 'x,y\n7,8\n')
    expect(run).toMatchObject({ status: 'FAILED', errorCode: 'SCHEMA_MISMATCH' })
    expect(file.mismatch).toBe(
      'A run would fail, because the source has no column of the last load. Columns of the last load: "id", "v". Columns of the file: "x", "y".',
    )
    expect((await load(id, 'id,v\n1,7\n', { rebuild: true })).run.status).toBe('OK')
    const types = (await columnsOf(id)).map(({ dataType }: { dataType: string }) => dataType)
    expect(types).toEqual(['SMALLINT', 'SMALLINT'])
  })

  it('is refused for an incremental run of an uploaded file', async () => {
    const { id } = await made()
    await owner.post(`/data-pipelines/${id}/file`).type('text/csv').send('a\n1\n').expect(200)
    const { body } = await owner
      .post(`/data-pipelines/${id}/run`)
      .send({ mode: 'INCREMENTAL', rebuild: true })
      .expect(422)
    expect(body.errors[0].pointer).toBe('/rebuild')
  })
})

describe('a column that the source no longer contains', () => {
  it('is marked as deleted', async () => {
    const { id } = await made()
    await load(id, 'id,a,b\n1,2,3\n')
    await load(id, 'id,a\n1,2\n')
    const columns: { name: string; deleted?: boolean }[] = await columnsOf(id)
    expect(columns.map(({ name, deleted = false }) => [name, deleted])).toEqual([
      ['id', false],
      ['a', false],
      ['b', true],
    ])
  })
})

describe('a workbook', () => {
  const table = (...rows: string[][]) =>
    rows.map((cells) => `<row>${cells.map((text) => `<c t="str"><v>${text}</v></c>`).join('')}</row>`).join('')
  const cover = table(['Ministry'], ['Malaria'])
  const data = table(['id', 'cases'], ['1', '5'], ['2', '7'])

  it('with a sheet of rows that was not read gives a WARNING at each load until a sheet is configured', async () => {
    const { id } = await made()
    const unread = 'Sheets with rows that were not read: "Data" (number 2).'
    for (let time = 0; time < 2; time++) {
      const { file, run } = await load(id, makeWorkbook({ sheets: { Cover: cover, Data: data } }))
      expect(run).toMatchObject({ status: 'WARNING', message: expect.stringContaining(unread) })
      expect(file.mismatch).toMatch(
        /^Only the sheet "Cover" .* upload a workbook that has only the sheet with the rows\.$/,
      )
      expect(run.message).toContain(file.mismatch)
    }
    const { body: pipeline } = await owner.get(`/data-pipelines/${id}`).expect(200)
    await owner
      .put(`/data-pipelines/${id}`)
      .send({ ...pipeline, csvOptions: { sheetNumber: 2 } })
      .expect(200)
    const { run } = await load(id, makeWorkbook({ sheets: { Cover: cover, Data: data } }))
    expect(run.message).not.toContain('Sheets')
    expect((await columnsOf(id)).map(({ name }: { name: string }) => name)).toEqual(['id', 'cases'])
    const again = await load(id, makeWorkbook({ sheets: { Cover: cover, Data: data } }))
    expect(again.run.status).toBe('OK')
    const shorter = await load(id, makeWorkbook({ sheets: { Data: data } }))
    expect(shorter.run).toMatchObject({
      status: 'FAILED',
      errorCode: 'SHEET_NOT_FOUND',
      message: expect.stringContaining('has no sheet number 2; it has the sheets "Data" (number 1).'),
    })
  })

  it('without the configured sheet fails, and the old rows stay', async () => {
    const { id } = await made({ csvOptions: { sheet: '2026' } })
    expect((await load(id, makeWorkbook({ sheets: { Cover: cover, '2026': data } }))).run.status).toBe('OK')
    const { run } = await load(id, makeWorkbook({ sheets: { Cover: cover, '2027': data } }))
    expect(run).toMatchObject({ status: 'FAILED', errorCode: 'SHEET_NOT_FOUND' })
    expect((await owner.get(`/data-pipelines/${id}/data`).expect(200)).body.rows).toHaveLength(2)
  })
})

describe('a transformation', () => {
  it('that removes all rows is named as the reason of the empty table', async () => {
    const { id, dataWarehouseTarget } = await made()
    const statement = `delete from ${dataWarehouseTarget.tableName}`
    const { body: pipeline } = await owner.get(`/data-pipelines/${id}`).expect(200)
    const transformation = { sqlStatements: [{ statement }] }
    await owner
      .put(`/data-pipelines/${id}`)
      .send({ ...pipeline, transformation })
      .expect(200)
    const { run } = await load(id, 'id\n1\n2\n')
    expect(run).toMatchObject({
      status: 'WARNING',
      message: expect.stringContaining(
        'The transformation removed all 2 rows of the source, so the table is empty now.',
      ),
    })
  })
})

describe('the creation time of a column', () => {
  it('stays the same while the source lacks the column, and after it returns', async () => {
    const created = async (id: string): Promise<Record<string, string>> =>
      Object.fromEntries((await columnsOf(id)).map((column: any) => [column.name, column.created]))
    const { id } = await made()
    const begun = Date.now()
    await load(id, 'id,a\n1,2\n')
    const first = await created(id)
    expect(Date.parse(first['id']!)).toBeGreaterThan(begun - 60_000)
    await load(id, 'id,b\n1,2\n')
    const second = await created(id)
    expect(second).toMatchObject({ id: first['id'], a: first['a'] })
    expect(Date.parse(second['b']!)).toBeGreaterThan(Date.parse(first['id']!))
    await load(id, 'id,a,b\n1,2,3\n')
    expect(await created(id)).toEqual(second)
  })
})
