import { closeSync, openSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { ColumnOptions, DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import type { TupleBatch } from '../../src/delimited/process-records.ts'
import type { StoredType } from '@sluice/row-stream'
import { type DelimitedPreview, previewRows } from '../../src/delimited/sample/preview-rows.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { TextFile } from '../../src/delimited/text-file.ts'
import { inputFolder, readInPlace } from './read-whole-file.ts'
import { tuplesOf } from './decode-copy-tuples.ts'

const folder = inputFolder()

const preview = (content: string | Uint8Array, options: DelimitedOptions = {}, rows?: number) =>
  shown(previewRows({ path: folder.write(content), name: 'cases.csv' }, options, rows === undefined ? {} : { rows }))

/** A preview with its tuples as texts. */
const shown = ({ tuples, ...rest }: DelimitedPreview) => ({ ...rest, rows: textsOf(tuples, rest.columns) })

function textsOf(tuples: readonly Buffer[], columns: readonly StoredType[]): (string | null)[][] {
  return tuplesOf(Buffer.concat(tuples)).map((tuple) =>
    tuple.map((value, index) => (value === null ? null : textOf(value, columns[index]!))),
  )
}

function textOf(value: Buffer, { dataType }: StoredType): string {
  switch (dataType) {
    case 'SMALLINT':
      return String(value.readInt16BE())
    case 'INTEGER':
      return String(value.readInt32BE())
    case 'DATE':
      return new Date(Date.UTC(2000, 0, 1 + value.readInt32BE())).toISOString().slice(0, 10)
    case 'DECIMAL':
      return value.toString('hex')
    default:
      return value.toString()
  }
}

/** The first rows as a load writes them. */
function loaded(content: string, options: DelimitedOptions = {}): (string | null)[][] {
  using file = new TextFile(folder.write(content), 'cases.csv')
  const reading = new DelimitedReader(file, detectText(file, options).dialect, defaultDelimitedLimits)
  const { tuples } = reading.encode(reading.columns).next().value as TupleBatch
  return textsOf([tuples], reading.columns)
}

describe('a preview', () => {
  const text = 'Cases 2024\n\nid;name;share;"seen, last"\n1;Ama;0,5;2024-01-31\n2;;NA;\nx\n3;"";1,25;2024-02-29\n'

  it('shows the detected dialect, the column types, the first rows and the rejected rows', () => {
    const { description, notes, columns, rows, rejected, sample } = preview(text)
    expect(description).toBe('delimiter “;”, header in line 3, 2 lines above it skipped')
    expect(notes).toEqual(['Kept as text: NA. To load this value as null, use the option nullValues.'])
    expect(columns).toEqual([
      { label: 'id', dataType: 'SMALLINT' },
      { label: 'name', dataType: 'TEXT' },
      { label: 'share', dataType: 'TEXT' },
      { label: 'seen, last', dataType: 'DATE', dateFormat: 'YYYY-MM-DD' },
    ])
    expect(rows).toEqual([
      ['1', 'Ama', '0,5', '2024-01-31'],
      ['2', null, 'NA', null],
      ['3', '', '1,25', '2024-02-29'],
    ])
    expect(rejected).toEqual([
      {
        line: 6,
        reason: '1 value where the header has 4: something is missing, or the row was broken into two lines',
        raw: 'x',
      },
    ])
    expect(sample).toEqual({ rows: 4, rejected: 1, complete: true })
  })

  it('shows the types and values for changed options', () => {
    const { columns, rows } = preview(text, { nullValues: ['NA'], decimal: 'COMMA' })
    expect(columns[2]).toEqual({ label: 'share', dataType: 'DECIMAL', precision: 3, scale: 2 })
    expect(rows.map((row) => row[2] === null)).toEqual([false, true, false])
    expect(rows).toEqual(loaded(text, { nullValues: ['NA'], decimal: 'COMMA' }))
  })

  it.each<[string, DelimitedOptions]>([
    ['id,on,at,ok\n1,31/01/2026,2026-01-31 10:00,TRUE\n2,01/02/2026,,f\n', {}],
    ["a;b\n'x\\'y;z';1,50\n'';2,00\n", { quote: 'SINGLE', escape: 'BACKSLASH', decimal: 'COMMA' }],
    ['a,b\n 1 ,{"x": 1}\n2,[]\n', { columns: [{ label: 'b', dataType: 'JSONB' }] }],
    ['code,n\n007,1e3\n008,2.50\n', { columns: [{ label: 'code', dataType: 'INTEGER' }] }],
  ])('shows the values that a load stores for %j', (content, options) => {
    const { rows } = preview(content, options)
    expect(rows.length).toBeGreaterThan(0)
    expect(rows).toEqual(loaded(content, options))
  })

  it('shows dates as YYYY-MM-DD for other date formats', () => {
    expect(preview('on\n31/01/2026\n01/02/2026\n').rows).toEqual([['2026-01-31'], ['2026-02-01']])
  })

  it('shows the requested number of rows, and reports that there are more', () => {
    const many = preview(`id\n${Array.from({ length: 20_000 }, (_, index) => index).join('\n')}\n`, {}, 3)
    expect(many.rows).toEqual([['0'], ['1'], ['2']])
    expect(many.sample).toEqual({ rows: 5000, rejected: 0, complete: false })
    expect(many.columns).toEqual([{ label: 'id', dataType: 'SMALLINT' }])
    expect(preview('id\n1\n2\n').rows).toHaveLength(2)
  })

  it('shows at most 100 rejected rows', () => {
    const { rejected, sample } = preview(`a,b\n1,2\n${'x\n'.repeat(500)}3,4\n`, { delimiter: 'COMMA', footerLines: 0 })
    expect(rejected).toHaveLength(100)
    expect(sample).toEqual({ rows: 502, rejected: 500, complete: true })
  })

  it('rejects values that do not fit a configured type, with the reasons of a load', () => {
    const refused =
      'id;name;on\n1;Ama;2024-01-31\nabc;Bo;2024-02-01\n3;"C;""o""";soon\n;Di;\n99999999999;Eve;2024-02-02\n'
    const options: DelimitedOptions = {
      columns: [
        { label: 'id', dataType: 'INTEGER' },
        { label: 'name', dataType: 'CHARACTER_11' },
        { label: 'on', dataType: 'DATE' },
      ],
    }
    const { rows, rejected, sample } = preview(refused, options)
    expect(rows).toEqual([
      ['1', 'Ama', '2024-01-31'],
      [null, 'Di', null],
    ])
    expect(rejected).toEqual([
      { line: 3, column: 'id', reason: '"abc" is not a valid INTEGER', raw: 'abc;Bo;2024-02-01' },
      { line: 4, column: 'on', reason: '"soon" is not a valid DATE', raw: '3;"C;""o""";soon' },
      { line: 6, column: 'id', reason: '"99999999999" is not a valid INTEGER', raw: '99999999999;Eve;2024-02-02' },
    ])
    expect(sample).toEqual({ rows: 5, rejected: 3, complete: true })
    expect(readInPlace(folder.write(refused), options, defaultDelimitedLimits)).toMatchObject({ rejected })
  })

  it('checks unescaped values against configured types, and shows rejected rows unchanged', () => {
    const escaped = "name,id\n'O\\'Reilly,Tom',1\n'O\\'Brien,Tom',2\nJo,x\n"
    const options: DelimitedOptions = {
      quote: 'SINGLE',
      escape: 'BACKSLASH',
      columns: [
        { label: 'name', dataType: 'CHARACTER_11' },
        { label: 'id', dataType: 'SMALLINT' },
      ],
    }
    const { rows, rejected } = preview(escaped, options)
    expect(rows).toEqual([["O'Brien,Tom", '2']])
    expect(rejected).toMatchObject([
      { line: 2, column: 'name', raw: "'O\\'Reilly,Tom',1" },
      { line: 4, column: 'id', reason: '"x" is not a valid SMALLINT', raw: 'Jo,x' },
    ])
    expect(readInPlace(folder.write(escaped), options, defaultDelimitedLimits)).toMatchObject({ rejected })
  })

  it.each<[NonNullable<ColumnOptions['dataType']>, string | null]>([
    ['TEXT', ''],
    ['VARCHAR_50', ''],
    ['VARCHAR_255', ''],
    ['CHARACTER_11', ''],
    ['GEOMETRY', ''],
    ['GEOMETRY_POINT', ''],
    ['JSONB', null],
    ['INTEGER', null],
    ['DATE', null],
    ['BOOLEAN', null],
  ])('shows a quoted empty field in a %s column as a load stores it', (dataType, expected) => {
    const quoted = 'id,value\n1,""\n2,\n'
    const options = { columns: [{ label: 'value', dataType }] }
    expect(preview(quoted, options).rows).toEqual([
      ['1', expected],
      ['2', null],
    ])
    using file = new TextFile(folder.write(quoted), 'cases.csv')
    const reading = new DelimitedReader(file, detectText(file, options).dialect, defaultDelimitedLimits)
    const batch = reading.encode(reading.columns).next().value as TupleBatch
    expect(tuplesOf(batch.tuples).map(([, value]) => value?.toString() ?? null)).toEqual([expected, null])
  })

  it('reads an open file descriptor, and leaves it open', () => {
    const fd = openSync(folder.write('id,name\n1,Ama\n'), 'r')
    for (let time = 0; time < 2; time++) {
      expect(shown(previewRows({ fd, name: 'cases.csv' }, {})).rows).toEqual([['1', 'Ama']])
    }
    closeSync(fd)
  })

  it('throws an error with the reason if there is nothing to show', () => {
    expect(() => preview('')).toThrow('cases.csv is empty; upload a file with at least a header row.')
    expect(() => preview('a,b\n', { columns: [{ label: 'c' }] })).toThrow(
      /the column "c", which the file does not have/,
    )
    expect(() => preview('id,"x" y,z\n1,2,3\n4,5,6\n', { quote: 'DOUBLE' })).toThrow(
      'The header of cases.csv in line 1 cannot be read: it has text after a closing quote; a quote inside a quoted field has to be doubled. If the file has no header row, set headerRow to false.',
    )
  })
})
