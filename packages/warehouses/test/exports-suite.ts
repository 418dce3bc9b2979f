import { describe, expect, it } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import type { ExportSource, RowTextFormat } from '../src/query-runner.ts'
import { columns, loadAll, never } from './row-fixtures.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

/** What every warehouse does when all rows of a table or query are exported. */
export function exportsSuite(subject: Given): void {
  async function exportText(source: ExportSource, format: RowTextFormat = 'CSV', signal = never) {
    await using opened = await subject.warehouse.queries.exportRows(source, format, signal)
    const chunks: Uint8Array[] = []
    for await (const chunk of opened.bytes) chunks.push(Buffer.from(chunk))
    return { columns: opened.columns, text: Buffer.concat(chunks).toString() }
  }
  const table = (name: string) => ({ table: { schema: 'health', name } })

  /** Whether NULL and an empty text differ, which the parser tells by the quotes. */
  const parseCsv = (text: string, options = {}) =>
    parse(text, {
      cast: (value, { quoting, header }) => (value === '' && !quoting && !header ? null : value),
      ...options,
    }) as (string | null)[][]

  describe('an export', () => {
    const shape = columns({
      id: 'INTEGER',
      name: 'TEXT',
      exact: 'BIGINT',
      price: 'DECIMAL',
      ok: 'BOOLEAN',
      day: 'DATE',
    })
    const texts = ['', 'a,b', 'say "yes"', 'two\nlines', 'CR\rhere', ' padded ', '=1+1', 'ä€😀', '\\.', 'null', null]
    const rows = texts.map((text, index) => [
      index + 1,
      text,
      '9007199254740993',
      index === 3 ? null : '12.50',
      index % 3 === 0 ? null : String(index % 2 === 0),
      index === 4 ? null : '2024-02-29',
    ])

    it('returns all rows of a table as RFC 4180, with NULL and the empty text apart', async () => {
      await loadAll(subject.warehouse, { table: 'exported', columns: shape }, rows)
      const { text, columns: found } = await exportText(table('exported'))
      expect(found.map(({ name, dataType }) => [name, dataType])).toEqual(
        shape.map(({ name, dataType }) => [name, dataType]),
      )
      expect(text.startsWith('id,name,exact,price,ok,day\r\n')).toBe(true)
      const [, ...read] = parseCsv(text)
      const stored = (await rowsIn(subject.warehouse, 'exported')).map((row) =>
        row.map((cell) => (cell === null || typeof cell === 'string' ? cell : JSON.stringify(cell))),
      )
      expect(read.toSorted(byFirst)).toEqual(stored.toSorted(byFirst))
      expect(stored).toHaveLength(texts.length)
    })

    it('returns numbers with all their digits as NDJSON', async () => {
      const { text } = await exportText(table('exported'), 'NDJSON')
      const lines = text.trimEnd().split('\n')
      expect(lines).toHaveLength(texts.length)
      const first = lines.find((line) => /"id": ?1,/.test(line))!
      expect(first).toMatch(/"exact": ?9007199254740993[,}]/)
      expect(first).toMatch(/"price": ?12\.50?[,}]/)
      const read = lines.map((line) => JSON.parse(line) as { id: number; name: string | null; day: string | null })
      expect(read.toSorted((a, b) => a.id - b.id).map(({ name }) => name)).toEqual(texts)
      expect(read.find(({ id }) => id === 1)!.day).toBe('2024-02-29')
    })

    it('returns for Excel no formula, and numbers with a decimal comma', async () => {
      const { text } = await exportText(table('exported'), 'EXCEL_CSV')
      expect(text.startsWith('\uFEFFid;name;exact;price;ok;day\r\n')).toBe(true)
      const [, ...read] = parseCsv(text.slice(1), { delimiter: ';' })
      const name = (id: number) => read.find((row) => row[0] === String(id))![1]
      expect(name(texts.indexOf('=1+1') + 1)).toBe(`'=1+1`)
      expect(read[0]![3]).toMatch(/^12,50?$/)
    })

    it('returns the result of a query, whose columns have names of their own', async () => {
      await loadAll(
        subject.warehouse,
        { table: 'counted', columns: columns({ id: 'INTEGER' }) },
        Array.from({ length: 5_000 }, (_, index) => [index + 1]),
      )
      const query = { text: 'select id, id as other from counted where id > 10 -- all but ten', schemas: ['health'] }
      const { text, columns: found } = await exportText({ query })
      expect(found.map(({ name }) => name)).toEqual(['id', 'other'])
      const [, ...read] = parseCsv(text)
      expect(read).toHaveLength(4_990)
      expect(new Set(read.map(([id]) => Number(id))).size).toBe(4_990)
    })

    it('returns at most the rows that a query is limited to', async () => {
      const text = 'select id from counted order by id'
      for (const rows of [1, 2_500, 9_999]) {
        const { text: written } = await exportText({ query: { text, schemas: ['health'], limits: { rows } } })
        expect(written.trimEnd().split('\r\n')).toHaveLength(Math.min(rows, 5_000) + 1)
      }
    })

    it('keeps the digits of numbers in JSON, as a page does', async () => {
      const json = '{"a": 9007199254740993, "b": [0.12345678901234567890, -1e400], "c": "1e5"}'
      const shown = columns({ id: 'INTEGER', doc: 'JSONB' })
      await loadAll(subject.warehouse, { table: 'documents', columns: shown }, [[1, json]])
      const page = JSON.stringify(await rowsIn(subject.warehouse, 'documents'))
      const { text } = await exportText(table('documents'))
      const lines = (await exportText(table('documents'), 'NDJSON')).text
      for (const written of [page, text.replaceAll('""', '"'), lines]) {
        expect(written).toContain('9007199254740993')
        expect(written).toContain('0.12345678901234567890')
        expect(written).toMatch(/-1e\+?400|-10{400}/)
      }
    })

    it('returns the header alone for an empty result', async () => {
      const { text } = await exportText({ query: { text: 'select id from counted where id < 0', schemas: ['health'] } })
      expect(text).toBe('id\r\n')
    })

    it('is refused for a missing table, a wrong query, and a text that is more than a query', async () => {
      await expect(exportText(table('missing'))).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      for (const text of ['select nothing_like_it from counted', 'select 1) to stdout; drop table health.counted; --'])
        await expect(exportText({ query: { text, schemas: ['health'] } })).rejects.toMatchObject({
          code: expect.stringMatching(/^(QUERY_FAILED|SQL_NOT_ALLOWED)$/),
        })
      expect(await rowsIn(subject.warehouse, 'counted')).toHaveLength(5_000)
    })

    it('fails visibly if the query fails after its first rows', async () => {
      const text = 'select id, 1 / (id - 4999) as n from counted'
      const integer = subject.subject.differs?.integerDivision ?? text
      await expect(exportText({ query: { text: integer, schemas: ['health'] } })).rejects.toMatchObject({
        code: 'QUERY_FAILED',
      })
    })

    it('ends when its signal aborts', async () => {
      const stop = new AbortController()
      const opened = await subject.warehouse.queries.exportRows(
        { query: { text: 'select a.id from counted a, counted b', schemas: ['health'] } },
        'CSV',
        stop.signal,
      )
      const reason = new Error('enough')
      const read = (async () => {
        for await (const _chunk of opened.bytes) stop.abort(reason)
      })()
      await expect(read).rejects.toBe(reason)
      await opened[Symbol.asyncDispose]()
    })
  })
}

const byFirst = (one: readonly unknown[], other: readonly unknown[]) => Number(one[0]) - Number(other[0])
