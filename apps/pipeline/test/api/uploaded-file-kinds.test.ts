import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { fileLoadsUnderTest } from './file-loads-setup.ts'

const loads = fileLoadsUnderTest([])
const { owner, create, run: runToEnd } = loads

/** Uploads a file to a new pipeline. */
async function upload(content: Buffer, changes: object = {}, name = 'cases') {
  const path = await create(changes)
  const answer = owner
    .post(`${path}/file?name=${name}`)
    .type('application/octet-stream')
    .serialize((sent) => sent as string)
    .send(content as unknown as string)
  return { path, answer }
}

/** Uploads and loads a file. Returns the run and the rows of the table. */
async function load(content: Buffer, changes: object = {}, name = 'cases') {
  const { path, answer } = await upload(content, changes, name)
  await answer.expect(200)
  const run = await runToEnd(path)
  const data = run.rowsWritten ? (await owner.get(`${path}/data`).expect(200)).body : undefined
  const columns = data?.columns.map((column: { name: string; dataType: string }) => `${column.name} ${column.dataType}`)
  return { run, columns, rows: data?.rows }
}

describe('an uploaded file', () => {
  it('can be compressed text in another encoding with its own CSV options', async () => {
    const text = Buffer.from('Stand 2026\nÄmter;Wert\nKöln;1,5\nn.v.;2,25\n', 'latin1')
    const csvOptions = { encoding: 'windows-1252', skipLines: 1, decimal: 'COMMA', nullValues: ['n.v.'] }
    const { run, columns, rows } = await load(gzipSync(text), { csvOptions })
    expect(run).toMatchObject({ status: 'OK', rowsWritten: 2, progress: { percentage: 100 } })
    expect(columns).toEqual([expect.stringMatching(/ TEXT$/), 'wert DECIMAL'])
    expect(rows).toEqual([
      ['Köln', '1.50'],
      [null, '2.25'],
    ])
  })

  it('can be text with several tables, of which the options choose one', async () => {
    const cases = 'Cases by town\ntown,cases,deaths\nAccra,5,0\nHo,7,0\nWa,1,0\nKeta,2,0\n'
    const tables = Buffer.from(`${cases}\ntown,beds,staff,doses\nHo,1,2,3\nWa,4,5,6\n`)
    const unread = /^.*Only the table in lines 1 to 6 of cases was read; another table seems to be in lines 8 to 10/
    const first = await load(tables)
    expect(first.run).toMatchObject({ status: 'WARNING', rowsWritten: 4 })
    expect(first.run.message).toMatch(unread)
    const { answer } = await upload(tables)
    expect((await answer.expect(200)).body.mismatch).toMatch(unread)
    const second = await load(tables, { csvOptions: { skipLines: 7 } })
    expect(second.run).toMatchObject({ status: 'OK', rowsWritten: 2 })
    expect(second.columns).toEqual(['town TEXT', 'beds SMALLINT', 'staff SMALLINT', 'doses SMALLINT'])
    const confirmed = await load(tables, { csvOptions: { skipLines: 1, footerLines: 4 } })
    expect(confirmed.run).toMatchObject({ status: 'OK', rowsWritten: 4 })
  })

  it('can have quotes that are not doubled, if the options say that they are text', async () => {
    const text = Buffer.from('id,item,size\n1,"pipe, 8" wide",2\n2,tap,3\n')
    expect((await load(text)).run).toMatchObject({ status: 'WARNING', rowsWritten: 1 })
    const { run, rows } = await load(text, { csvOptions: { strayQuotes: 'TEXT' } })
    expect(run).toMatchObject({ status: 'OK', rowsWritten: 2 })
    expect(rows).toEqual([
      [1, 'pipe, 8" wide', 2],
      [2, 'tap', 3],
    ])
  })

  it('can be a JSON array or JSON lines', async () => {
    const documents = [
      { id: 1, name: 'Ä', more: { a: [1] } },
      { id: 2, name: null, more: null },
    ]
    const [whole, lines] = await Promise.all([
      load(Buffer.from(JSON.stringify(documents))),
      load(Buffer.from(documents.map((one) => JSON.stringify(one)).join('\n'))),
    ])
    expect(whole.columns).toEqual(['id SMALLINT', 'name TEXT', 'more JSONB'])
    expect(whole.rows).toEqual([
      [1, 'Ä', { a: [1] }],
      [2, null, null],
    ])
    expect([lines.columns, lines.rows]).toEqual([whole.columns, whole.rows])
  })

  it('can be Parquet', async () => {
    const file = parquetWriteBuffer({
      columnData: [
        { name: 'id', data: [1, 2, 3], type: 'INT32' },
        { name: 'name', data: ['a', null, 'Ä'], type: 'STRING' },
      ],
    })
    const { run, columns, rows } = await load(Buffer.from(file), { type: 'PARQUET_UPLOAD' }, 'cases.parquet')
    expect(run).toMatchObject({ status: 'OK', rowsWritten: 3 })
    expect(columns).toEqual(['id INTEGER', 'name TEXT'])
    expect(rows).toEqual([
      [1, 'a'],
      [2, null],
      [3, 'Ä'],
    ])
  })

  it('of another kind than the type of the pipeline is refused with the reason', async () => {
    const csv = await upload(Buffer.from('a,b\n1,2\n'), { type: 'PARQUET_UPLOAD' })
    await csv.answer.expect(422)
    const file = parquetWriteBuffer({ columnData: [{ name: 'id', data: [1], type: 'INT32' }] })
    const parquet = await upload(Buffer.from(file))
    const { body } = await parquet.answer.expect(422)
    expect(body).toMatchObject({
      code: 'source-unreadable',
      detail: expect.stringContaining('PARQUET_UPLOAD pipeline'),
    })
  })

  it('is transformed by SQL before it is published', async () => {
    const sqlStatements = [{ description: 'Only the good ones.', statement: `delete from "cases" where b < 3` }]
    const target = {
      dataWarehouseTarget: { schema: { id: loads.schema }, tableName: 'cases' },
      transformation: { sqlStatements },
    }
    const { run, rows } = await load(Buffer.from('a,b\n1,2\n3,4\n'), target)
    expect([run.status, run.message, rows]).toEqual(['OK', expect.any(String), [[3, 4]]])
  })
})
