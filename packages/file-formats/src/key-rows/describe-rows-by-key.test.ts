import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { written } from '../parquet/test/write-parquet-files.ts'
import type { FileOptions } from '../upload/read-upload.ts'
import { makeWorkbook } from '../upload/test/make-workbook.ts'
import { describeKeyRows } from './describe-rows-by-key.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-key-rows-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const never = new AbortController().signal

function describeRows(content: string | Uint8Array, key: Record<string, string>, options: FileOptions = {}) {
  const path = join(folder, 'upload')
  writeFileSync(path, content)
  const duplicate = { keys: Object.keys(key), values: Object.values(key), rows: 3 }
  return describeKeyRows({ path, name: 'cases.csv', filesDirectory: folder }, options, duplicate, never)
}

describe('rows with the same key', () => {
  it.each<[string, string, Record<string, string>, FileOptions]>([
    ['a date', 'at;n\n31.01.2024;1\n31.01.2024;1\n30.01.2024;1\n31.01.2024;1\n', { at: '2024-01-31', n: '1' }, {}],
    [
      'a date in a column of times',
      'at\n2024-01-31\n2024-01-31\n2024-02-01\n2024-01-31\n',
      { at: '2024-01-31 00:00:00.000000' },
      {},
    ],
    ['an amount', 'n\n1,50\n1,5\n1,51\n1,500\n', { n: '1.500' }, { decimal: 'COMMA', delimiter: 'SEMI_COLON' }],
    ['a truth', 'n\ntrue\nTRUE\nfalse\ntrue\n', { n: 'true' }, {}],
    [
      'a long number',
      'n\n12345678901234567890\n12345678901234567890\n12345678901234567891\n12345678901234567890\n',
      { n: '12345678901234567890' },
      {},
    ],
    ['a text', 'n\n"say ""a"""\n"say ""a"""\nsay\n"say ""a"""\n', { n: 'say "a"' }, {}],
    ['a requested type', 'n\n007\n7\n70\n+7\n', { n: '7' }, { columns: [{ label: 'n', dataType: 'INTEGER' }] }],
    ['a renamed column', 'n\na\na\nb\na\n', { case_no: 'a' }, { columns: [{ label: 'n', name: 'case_no' }] }],
  ])('are found by %s', async (_, content, key, options) => {
    expect(await describeRows(content, key, options)).toBe('lines 2, 3 and 5 of cases.csv')
    expect(await describeRows(gzipSync(content), key, options)).toBe('lines 2, 3 and 5 of cases.csv')
  })

  it('are counted in workbooks, JSON and Parquet', async () => {
    const sheet = ['n', 'a', 'b', 'a', 'a']
      .map((text, row) => `<row r="${row + 3}"><c r="A${row + 3}" t="inlineStr"><is><t>${text}</t></is></c></row>`)
      .join('')
    expect(await describeRows(makeWorkbook({ sheets: { one: sheet } }), { n: 'a' })).toBe(
      'rows 1, 3 and 4 of cases.csv',
    )
    expect(await describeRows('[{"n":1},{"n":2},{"n":1},{"n":1}]', { n: '1' })).toBe('rows 1, 3 and 4 of cases.csv')
    const parquet = written({ id: { element: { type: 'INT32' }, data: [5, 6, 5, 5] } })
    expect(await describeRows(parquet, { id: '5' })).toBe('rows 1, 3 and 4 of cases.csv')
  })

  it('are found without a value in the key, and by the labels of its columns', async () => {
    const withoutKey = async (content: string | Uint8Array, keys: string[], options: FileOptions = {}) => {
      writeFileSync(join(folder, 'upload'), content)
      const upload = { path: join(folder, 'upload'), name: 'cases.csv', filesDirectory: folder }
      return describeKeyRows(upload, options, { keys }, never)
    }
    const content = 'Case No,at,n\n1,2024-01-31,NA\n2,2024-02-01,1\n,2024-02-02,2\n'
    expect(await withoutKey(content, ['case_no', 'at'])).toBe('line 4 of cases.csv')
    expect(await withoutKey(content, ['Case No', 'n'], { nullValues: ['NA'] })).toBe('lines 2 and 4 of cases.csv')
    expect(await withoutKey(content, ['at'])).toBeUndefined()
    expect(await withoutKey(`n,m\n${'1,\n'.repeat(5)}`, ['m'])).toBe('lines 2, 3, 4, 5 and 6 of cases.csv')
    expect(await withoutKey(`n,m\n${'1,\n'.repeat(6)}`, ['m'])).toBe('lines 2, 3, 4, 5, 6 and more of cases.csv')
    expect(await withoutKey('[{"n":1},{"m":2}]', ['n'])).toBe('row 2 of cases.csv')
    const parquet = written({ id: { element: { type: 'INT32' }, data: [5, null, 5] } })
    expect(await withoutKey(parquet, ['id'])).toBe('row 2 of cases.csv')
  })

  it('are not described if fewer than two are found', async () => {
    expect(await describeRows('n\n1\n2\n', { n: '1' })).toBeUndefined()
    expect(await describeRows('n\n1\n1\n', { other: '1' })).toBeUndefined()
  })

  it('are found below a blank line after the header', async () => {
    const content = 'key,note\n\n"7","say ""a"""\n"b c","a"\n"7","a"\n"a","a"\n'
    const options: FileOptions = { delimiter: 'COMMA', headerRow: true, quote: 'DOUBLE' }
    expect(await describeRows(content, { key: '7' }, options)).toBe('lines 3, 5 and 1 more of cases.csv')
  })

  it('are found with their lines in random files', async () => {
    const value = fc.constantFrom('a', 'b c', 'x\ny', 'say "a"', '7', '')
    const record = fc.oneof(
      { arbitrary: fc.record({ key: value, note: value }), weight: 6 },
      { arbitrary: fc.constant('too,many,fields'), weight: 1 },
      { arbitrary: fc.constant(''), weight: 1 },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 30 }), value, async (records, key) => {
        fc.pre(key !== '')
        let line = 2
        const lines: number[] = []
        const texts = records.map((one) => {
          const text =
            typeof one === 'string' ? one : `"${one.key.replaceAll('"', '""')}","${one.note.replaceAll('"', '""')}"`
          if (typeof one !== 'string' && one.key === key) lines.push(line)
          line += text.split('\n').length
          return text
        })
        const content = ['key,note', ...texts, ''].join('\n')
        const shown = [...lines.slice(0, 5), ...(lines.length > 5 ? [`${lines.length - 5} more`] : [])]
        const described = await describeKeyRowsOf(content, key, lines.length)
        expect(described).toBe(
          lines.length < 2 ? undefined : `lines ${shown.slice(0, -1).join(', ')} and ${shown.at(-1)} of cases.csv`,
        )
      }),
      { numRuns: drawCount({ short: 30, long: 500 }) },
    )
  })
})

function describeKeyRowsOf(content: string, key: string, rows: number) {
  const path = join(folder, 'random')
  writeFileSync(path, content)
  const upload = { path, name: 'cases.csv', filesDirectory: folder }
  const options: FileOptions = { delimiter: 'COMMA', headerRow: true, quote: 'DOUBLE' }
  return describeKeyRows(upload, options, { keys: ['key'], values: [key], rows }, never)
}
