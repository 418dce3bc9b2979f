import { randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makeWorkbook } from '@sluice/file-formats/testing/make-workbook'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let owner: Asking
let stranger: Asking
let client: string
let schema: string
beforeAll(async () => {
  service = await startService({ uploadLimit: 50_000_000 })
  client = (await service.identity.client()).id
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const
  owner = service.as(await service.identity.person(client, [...roles]))
  stranger = service.as(await service.identity.person((await service.identity.client()).id, [...roles]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const send = (content: string | Buffer, query = '') =>
  owner
    .post(`/data-pipelines/preview-file${query}`)
    .type('application/octet-stream')
    .serialize((sent) => sent as string)
    .send(content as string)
const kept = async () => (await readdir(join(service.config.FILES_DIRECTORY, 'uploads')).catch(() => [])).length
const withFile = async (content: string | Buffer, changes = {}) => {
  const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)
  await owner
    .post(`/data-pipelines/${body.id}/file?name=cases.csv`)
    .type('application/octet-stream')
    .serialize((sent) => sent as string)
    .send(content as string)
    .expect(200)
  return body.id as string
}

describe('a preview of a file', () => {
  it('returns rows, types and detected CSV options, and stores nothing', async () => {
    const before = await kept()
    const { body } = await send('id;name;when\n1;Ä;2026-01-31\n2;;2026-02-01\n', '?name=cases.csv').expect(200)
    expect(body).toMatchObject({
      name: 'cases.csv',
      columns: [
        { name: 'id', label: 'id', dataType: 'SMALLINT' },
        { name: 'name', label: 'name', dataType: 'TEXT' },
        { name: 'when', label: 'when', dataType: 'DATE' },
      ],
      rows: [
        [1, 'Ä', '2026-01-31'],
        [2, null, '2026-02-01'],
      ],
      height: 2,
      width: 3,
      complete: true,
      rejected: [],
      csvGuesses: { delimiter: { value: 'SEMI_COLON', given: false }, headerRow: { value: true } },
    })
    expect(await kept()).toBe(before)
  })

  it('uses the options of the request', async () => {
    const { body } = await send('1|NA\n2|x\n', '?delimiter=PIPE&headerRow=false&nullValues=NA&rows=1').expect(200)
    expect(body).toMatchObject({
      rows: [[1, null]],
      complete: false,
      csvGuesses: {
        delimiter: { value: 'PIPE', given: true, confidence: 1 },
        headerRow: { value: false, given: true },
      },
    })
  })

  it('returns the rows that a load would reject', async () => {
    const { body } = await send('a,b\n1,2\n3\n4,5\n').expect(200)
    expect(body.rows).toEqual([
      [1, 2],
      [4, 5],
    ])
    expect(body.rejected).toMatchObject([{ line: 3, raw: '3' }])
  })

  it('reads only the beginning of a long file, and returns no partial row', async () => {
    const { body } = await send(`a,b\n${'12345,some text\n'.repeat(500_000)}`, '?rows=5').expect(200)
    expect(body).toMatchObject({ height: 5, complete: false, rejected: [] })
  })

  it('decompresses gzip, and asks for the whole file if the format cannot be read from its beginning', async () => {
    const { body } = await send(gzipSync('a,b\n1,2\n')).expect(200)
    expect(body.rows).toEqual([[1, 2]])
    const long = gzipSync(`number\n${Array.from({ length: 700_000 }, () => String(Math.random())).join('\n')}`)
    expect(long.length).toBeGreaterThan(4_500_000)
    const first = await send(long, '?rows=3').expect(200)
    expect(first.body).toMatchObject({ height: 3, complete: false })
    const refused = await send(Buffer.concat([Buffer.from('PK\u0003\u0004'), randomBytes(5_000_000)])).expect(422)
    expect(refused.body.code).toBe('preview-needs-whole-file')
  })

  it('reads JSON', async () => {
    const { body } = await send('[{"id": 1, "name": "Ä"}, {"id": 2, "more": [1]}]', '?name=cases.json').expect(200)
    expect(body.columns).toMatchObject([{ name: 'id' }, { name: 'name' }, { name: 'more', dataType: 'JSONB' }])
    expect(body.rows).toEqual([
      [1, 'Ä', null],
      [2, null, [1]],
    ])
    expect(body.notes.join()).not.toContain('delimiter')
    const { body: nameless } = await send('[{"id": 1}]').expect(200)
    expect(nameless.notes[0]).toMatch(/^The file is a JSON array/)
  })

  it('returns the values that a load would store', async () => {
    const { body } = await send('on;share;ok\n31/01/2026;1,50;TRUE\n01/02/2026;;false\n').expect(200)
    expect(body.rows).toEqual([
      ['2026-01-31', '1.50', true],
      ['2026-02-01', null, false],
    ])
  })

  it('lists the sheets of a workbook, and reads the selected sheet', async () => {
    const value = (text: number) => `<row><c><v>${text}</v></c></row>`
    const sheets = { Cover: value(1), Lists: value(2), Blank: '' }
    const book = makeWorkbook({ sheets, attributes: { Lists: 'state="hidden"' } })
    const { body } = await send(book, '?name=a.xlsx&headerRow=false').expect(200)
    expect(body.sheets).toEqual([
      { number: 1, name: 'Cover', hidden: false, hasRows: true, read: true },
      { number: 2, name: 'Lists', hidden: true, hasRows: true, read: false },
      { number: 3, name: 'Blank', hidden: false, hasRows: false, read: false },
    ])
    expect(body.notes[0]).toMatch(/^Only the sheet "Cover" \(number 1\) of a\.xlsx was read\./)
    expect(body.notes.join()).not.toContain('delimiter')
    const second = await send(book, '?name=a.xlsx&headerRow=false&sheetNumber=2').expect(200)
    expect(second.body.rows).toEqual([[2]])
    expect(second.body.notes[0]).toBe('a.xlsx is an Excel workbook, of which the sheet Lists (2 of 3) was read.')
    const beyond = await send(book, '?name=a.xlsx&sheetNumber=4').expect(422)
    expect(beyond.body.detail).toContain('a.xlsx has no sheet number 4; it has the sheets "Cover" (number 1), ')
    const both = await send(book, '?name=a.xlsx&sheetNumber=1&sheet=Cover').expect(422)
    expect(both.body.errors[0].pointer).toBe('/csvOptions/sheetNumber')
    await send(book, '?sheetNumber=0').expect(400)
  })

  it('returns the reason if the file cannot be read', async () => {
    const { body } = await send('%PDF-1.7 and so on').expect(422)
    expect(body).toMatchObject({ code: 'source-unreadable', detail: expect.stringContaining('a PDF document') })
    const empty = await send('').expect(422)
    expect(empty.body.detail).toBe('The file is empty.')
    await send('{}').type('application/json').expect(415)
  })
})

describe('configured columns in a preview', () => {
  it('are returned with their configured names and types', async () => {
    const id = await withFile('Code,When\n007,01/02/2026\n')
    const columns = [
      { label: 'Code', name: 'code_of_case', dataType: 'INTEGER' },
      { index: 1, dateFormat: 'DD/MM/YYYY' },
    ]
    const asked = { type: 'CSV_UPLOAD', id, csvOptions: { columns } }
    const { body } = await owner.post('/data-pipelines/preview').send(asked).expect(200)
    expect(body.columns).toMatchObject([
      { name: 'code_of_case', label: 'Code', dataType: 'INTEGER' },
      { name: 'when', dataType: 'DATE' },
    ])
  })

  it('are refused if the file does not contain them', async () => {
    const id = await withFile('a\n1\n')
    const asked = { type: 'CSV_UPLOAD', id, csvOptions: { columns: [{ label: 'b', dataType: 'TEXT' }] } }
    const { body } = await owner.post('/data-pipelines/preview').send(asked).expect(422)
    expect(body).toMatchObject({ code: 'source-unreadable', detail: expect.stringContaining('b') })
  })
})

describe('a preview of the file of a pipeline', () => {
  it('uses the stored settings, or the settings of the request', async () => {
    const id = await withFile('a;b\n1;2\n')
    const { body } = await owner.post('/data-pipelines/preview').send({ type: 'CSV_UPLOAD', id }).expect(200)
    expect(body.rows).toEqual([[1, 2]])
    const { body: pipeline } = await owner.get(`/data-pipelines/${id}`).expect(200)
    const changed = { ...pipeline, csvOptions: { delimiter: 'COMMA' } }
    const other = await owner.post('/data-pipelines/preview').send(changed).expect(200)
    expect(other.body.rows).toEqual([['1;2']])
  })

  it('returns 404 to a user who may not see the pipeline', async () => {
    const id = await withFile('a\n1\n')
    await stranger.post('/data-pipelines/preview').send({ type: 'CSV_UPLOAD', id }).expect(404)
  })

  it('is refused without a pipeline id, without a file, or for another type', async () => {
    const preview = (body: object) => owner.post('/data-pipelines/preview').send(body).expect(422)
    expect((await preview({ type: 'CSV_UPLOAD' })).body.errors[0].pointer).toBe('/id')
    const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)
    expect((await preview({ type: 'CSV_UPLOAD', id: body.id })).body.code).toBe('source-unreadable')
    expect((await preview({ type: 'PARQUET_UPLOAD', id: body.id })).body.errors[0].pointer).toBe('/type')
  })
})

describe('the preview of a view', () => {
  let place: LoadedPlace
  beforeAll(async () => {
    place = await loadedPlace(service, owner, client)
  })
  const preview = (query: string, more: object = {}) =>
    owner.post('/views/preview').send({ schema: { id: place.schema }, query, ...more })

  it('returns columns and rows of an unsaved query, and resolves names as the view does', async () => {
    const { body } = await preview(`select id, region from ${place.table} order by id;`, { rows: 2 }).expect(200)
    expect(body).toMatchObject({
      rows: [
        [1, 'north'],
        [2, 'south'],
      ],
      columns: [{ name: 'id' }, { dataType: 'TEXT' }],
    })
    const sent = viewBody(place.schema, `select count(*) as n from ${place.table}`)
    const { body: saved } = await owner.post('/views').send(sent).expect(201)
    await owner.post('/views/preview').send(saved).expect(200)
  })

  it('refuses a query that is not a single valid SELECT, or an unknown schema', async () => {
    for (const query of [
      'delete from x',
      `drop table ${place.table}`,
      'select 1; select 2',
      'select ${x}',
      'select nope',
    ])
      await preview(query).expect(422)
    const body = { schema: { id: randomUUID() }, query: 'select 1' }
    const { body: problem } = await owner.post('/views/preview').send(body).expect(422)
    expect(problem.errors[0].pointer).toBe('/schema/id')
  })
})
