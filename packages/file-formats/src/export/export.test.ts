import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { rowTextWriter } from '../../../warehouses/src/rows/csv-and-ndjson.ts'
import { encodeInThread } from './encode-in-thread.ts'
import type { EncodedFormat, ExportedColumn } from './exported-column.ts'

const signal = new AbortController().signal

type Row = readonly (string | null)[]

/** The rows as the CSV that a warehouse would write, in chunks that end anywhere. */
async function* csvChunks(columns: readonly ExportedColumn[], rows: readonly Row[], chunkBytes: number) {
  const write = rowTextWriter(
    columns.map((column) => ({ ...column, label: column.name, primaryKey: false })) as never,
    'CSV',
  )
  const bytes = Buffer.from(rows.map((row) => write(row)).join(''))
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

async function encode(
  format: EncodedFormat,
  columns: readonly ExportedColumn[],
  rows: readonly Row[],
  { chunkBytes = 1_000, batchBytes = 4_000 } = {},
): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of encodeInThread(
    { format, columns, rows: csvChunks(columns, rows, chunkBytes), batchBytes },
    signal,
  ))
    parts.push(part)
  return Buffer.concat(parts)
}

const everyType: readonly ExportedColumn[] = [
  { name: 'small', dataType: 'SMALLINT' },
  { name: 'whole', dataType: 'INTEGER' },
  { name: 'big', dataType: 'BIGINT' },
  { name: 'price', dataType: 'DECIMAL', precision: 20, scale: 4 },
  { name: 'any', dataType: 'DECIMAL' },
  { name: 'single', dataType: 'FLOAT' },
  { name: 'double', dataType: 'DOUBLE' },
  { name: 'yes', dataType: 'BOOLEAN' },
  { name: 'short', dataType: 'VARCHAR_50' },
  { name: 'text', dataType: 'TEXT' },
  { name: 'day', dataType: 'DATE' },
  { name: 'moment', dataType: 'TIMESTAMP' },
  { name: 'instant', dataType: 'TIMESTAMPTZ' },
  { name: 'json', dataType: 'JSONB' },
]

const pad = (value: number, digits: number) => String(value).padStart(digits, '0')
const day = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10))
const time = fc
  .record({ hour: fc.nat(23), minute: fc.nat(59), second: fc.nat(59), micros: fc.nat(999_999) })
  .map(({ hour, minute, second, micros }) => `${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}.${pad(micros, 6)}`)
const moment = fc.tuple(day, time).map((parts) => parts.join(' '))
const text = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'))

const cellOf: Record<string, fc.Arbitrary<string>> = {
  small: fc.integer({ min: -32_768, max: 32_767 }).map(String),
  whole: fc.integer().map(String),
  big: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  price: fc
    .bigInt({ min: -(10n ** 20n) + 1n, max: 10n ** 20n - 1n })
    .map((digits) => `${digits < 0n ? '-' : ''}${shift(digits < 0n ? -digits : digits)}`),
  any: fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }).map((digits) => `${digits}.5`),
  single: fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value === 0 ? 0 : value)),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value === 0 ? 0 : value)),
  yes: fc.boolean().map(String),
  short: text,
  text,
  day,
  moment,
  instant: moment.map((value) => `${value}+00`),
  json: fc.json({ maxDepth: 2 }),
}
const shift = (digits: bigint) => `${digits / 10_000n}.${pad(Number(digits % 10_000n), 4)}`

const row = fc.tuple(...everyType.map(({ name }) => fc.option(cellOf[name]!, { freq: 4 })))
const law = { numRuns: isLongRun ? 200 : 8 }

describe('an encoded export', () => {
  it('has as Parquet what DuckDB reads as the same values', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-export-'))
    const duckdb = await (await DuckDBInstance.create()).connect()
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(row, { maxLength: 60 }),
          fc.integer({ min: 1, max: 300 }),
          async (rows, chunkBytes) => {
            const path = join(folder, 'rows.parquet')
            writeFileSync(path, await encode('PARQUET', everyType, rows, { chunkBytes, batchBytes: 2_000 }))
            const read = await duckdb.runAndReadAll(`
            select small::text, whole::text, big::text, price::text, "any"::text, single, double, yes::text, short, text,
              day::text, strftime(moment, '%Y-%m-%d %H:%M:%S.%f'), strftime(instant at time zone 'UTC', '%Y-%m-%d %H:%M:%S.%f+00'),
              json
            from '${path}'`)
            expect(read.getRows().map((cells) => cells.map(comparable))).toEqual(rows.map(comparableRow))
          },
        ),
        law,
      )
      const described = await duckdb.runAndReadAll(`describe select * from '${join(folder, 'rows.parquet')}'`)
      expect(described.getRows().map(([name, type]) => [name, type])).toEqual([
        ['small', 'SMALLINT'],
        ['whole', 'INTEGER'],
        ['big', 'BIGINT'],
        ['price', 'DECIMAL(20,4)'],
        ['any', 'VARCHAR'],
        ['single', 'FLOAT'],
        ['double', 'DOUBLE'],
        ['yes', 'BOOLEAN'],
        ['short', 'VARCHAR'],
        ['text', 'VARCHAR'],
        ['day', 'DATE'],
        ['moment', 'TIMESTAMP'],
        ['instant', 'TIMESTAMP WITH TIME ZONE'],
        ['json', 'VARCHAR'],
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('has as CSV without source formats the bytes of the warehouse', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 300 }), async (rows, chunkBytes) => {
        const header = `${everyType.map(({ name }) => name).join(',')}\r\n`
        const bytes = Buffer.concat(await Array.fromAsync(csvChunks(everyType, rows, 1_000)))
        const printed = await encode('SOURCE_FORMAT_CSV', everyType, rows, { chunkBytes, batchBytes: 2_000 })
        expect(printed.toString()).toBe(header + bytes.toString())
      }),
      law,
    )
  })

  it('has as CSV the values in source formats, and never drops a digit', async () => {
    const columns: ExportedColumn[] = [
      { name: 'day', dataType: 'DATE', sourceFormat: 'DD.MM.YYYY' },
      { name: 'price', dataType: 'DECIMAL', sourceFormat: '0,00' },
      { name: 'at', dataType: 'TIMESTAMPTZ', sourceFormat: 'YYYY-MM-DDTHH:mm+02:00' },
      { name: 'ok', dataType: 'BOOLEAN', sourceFormat: 'Yes|No' },
    ]
    const rows: Row[] = [
      ['2024-12-31', '1.5000', '2024-12-31 22:30:00+00', 'true'],
      ['infinity', '-0.125', '2024-06-01 00:00:01.5+00', null],
      ['0044-03-15 BC', 'NaN', 'infinity', 'false'],
    ]
    expect(String(await encode('SOURCE_FORMAT_CSV', columns, rows)).split('\r\n')).toEqual([
      'day,price,at,ok',
      '31.12.2024,"1,50",2025-01-01T00:30+02:00,Yes',
      'infinity,"-0,125",2024-06-01T02:00:01.5+02:00,',
      '0044-03-15 BC,NaN,infinity,No',
      '',
    ])
  })

  it('has as Arrow what the reference implementation reads as the same values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 300 }), async (rows, chunkBytes) => {
        const table = tableFromIPC(await encode('ARROW', everyType, rows, { chunkBytes, batchBytes: 2_000 }))
        expect(table.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
          ['small', 'Int16'],
          ['whole', 'Int32'],
          ['big', 'Int64'],
          ['price', 'Decimal[20e+4]'],
          ['any', 'Utf8'],
          ['single', 'Float32'],
          ['double', 'Float64'],
          ['yes', 'Bool'],
          ['short', 'Utf8'],
          ['text', 'Utf8'],
          ['day', 'Date32<DAY>'],
          ['moment', 'Timestamp<MICROSECOND>'],
          ['instant', 'Timestamp<MICROSECOND, UTC>'],
          ['json', 'Utf8'],
        ])
        expect(table.numRows).toBe(rows.length)
        for (const [index, { name }] of everyType.entries()) {
          const found = Array.from(table.getChild(name)!.toArray() as Iterable<unknown>)
          const nulls = Array.from({ length: rows.length }, (_, at) => table.getChild(name)!.get(at) === null)
          expect([name, nulls]).toEqual([name, rows.map((cells) => cells[index] === null)])
          if (['small', 'whole', 'big', 'short', 'text', 'any', 'json'].includes(name))
            expect(Array.from({ length: rows.length }, (_, at) => textOrNull(table.getChild(name)!.get(at)))).toEqual(
              rows.map((cells) => cells[index]),
            )
          if (name === 'moment' || name === 'instant')
            expect(
              rows.flatMap((cells, at) => (cells[index] === null ? [] : [formatMicros(found[at] as bigint)])),
            ).toEqual(rows.flatMap((cells) => (cells[index] === null ? [] : [cells[index]!.replace('+00', '')])))
        }
      }),
      law,
    )
  })

  // Debian's Python, which has Debian's packages.
  const python = '/usr/bin/python3'
  const openpyxlMissing =
    spawnSync(python, ['-c', 'import openpyxl']).status === 0
      ? undefined
      : 'runs with openpyxl: apt-get install python3-openpyxl'

  /** Prints the type and the value of each cell. */
  const readWorkbook = `
import json, sys, openpyxl
sheet = openpyxl.load_workbook(sys.argv[1]).active
show = lambda value: value.isoformat() if hasattr(value, 'isoformat') else value
print(json.dumps([[[cell.data_type, show(cell.value)] for cell in row] for row in sheet.iter_rows()]))`

  itUnless(openpyxlMissing)('has in a workbook the types and values that openpyxl reads', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-workbook-'))
    const file = join(directory, 'rows.xlsx')
    const rows: Row[] = [
      ['42', '9007199254740993', '12.5', 'true', '2024-02-29', '2024-02-29 12:30:00', '=1+1'],
      ['-7', '123456789012345', '-0.001', 'false', '1899-12-31', '9999-12-31 23:59:59', ' ä€😀 <&> " \'\nline'],
      [null, null, null, null, null, null, null],
      ['0', '0', '0', 'true', '1900-03-01', '2024-01-01 00:00:00', ''],
    ]
    const columns: ExportedColumn[] = [
      { name: 'whole', dataType: 'INTEGER' },
      { name: 'big', dataType: 'BIGINT' },
      { name: 'price', dataType: 'DECIMAL' },
      { name: 'yes', dataType: 'BOOLEAN' },
      { name: 'day', dataType: 'DATE' },
      { name: 'moment', dataType: 'TIMESTAMP' },
      { name: 'text <&>', dataType: 'TEXT' },
    ]
    try {
      writeFileSync(file, await encode('XLSX', columns, rows))
      const read: unknown = JSON.parse(execFileSync(python, ['-c', readWorkbook, file]).toString())
      expect(read).toEqual([
        columns.map(({ name }) => ['s', name]),
        [
          ['n', 42],
          ['s', '9007199254740993'],
          ['n', 12.5],
          ['b', true],
          ['d', '2024-02-29T00:00:00'],
          ['d', '2024-02-29T12:30:00'],
          ['s', '=1+1'],
        ],
        [
          ['n', -7],
          ['n', 123456789012345],
          ['n', -0.001],
          ['b', false],
          ['s', '1899-12-31'],
          ['d', '9999-12-31T23:59:59'],
          ['s', ' ä€😀 <&> " \'\nline'],
        ],
        columns.map(() => ['n', null]),
        [
          ['n', 0],
          ['n', 0],
          ['n', 0],
          ['b', true],
          ['d', '1900-03-01T00:00:00'],
          ['d', '2024-01-01T00:00:00'],
          ['s', ''],
        ],
      ])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('is a valid file without rows', async () => {
    const columns = everyType.slice(0, 2)
    expect(tableFromIPC(await encode('ARROW', columns, [])).numRows).toBe(0)
    expect((await encode('PARQUET', columns, [])).subarray(0, 4).toString()).toBe('PAR1')
    expect((await encode('XLSX', columns, [])).subarray(0, 2).toString()).toBe('PK')
  })

  it('is refused for a value that the format cannot store, with the column', async () => {
    const moments = [{ name: 'seen', dataType: 'TIMESTAMP' }] as const
    await expect(encode('PARQUET', moments, [['infinity']])).rejects.toThrow(
      'Column "seen" contains infinity, which this format cannot store. Export the rows as CSV, or leave the column out.',
    )
    await expect(
      encode('ARROW', [{ name: 'price', dataType: 'DECIMAL', precision: 5, scale: 2 }], [['NaN']]),
    ).rejects.toThrow('Column "price" contains NaN')
    await expect(encode('XLSX', [{ name: 'note', dataType: 'TEXT' }], [['x'.repeat(32_768)]])).rejects.toThrow(
      'a cell of Excel has at most 32,767',
    )
  })

  it('rejects with the error of its rows, and ends its thread when its signal aborts', async () => {
    const columns = everyType.slice(0, 1)
    const failure = new Error('the warehouse went away')
    async function* failing() {
      yield Buffer.from('1\r\n')
      throw failure
    }
    const drain = async (rows: AsyncIterable<Uint8Array>, stop = signal) => {
      for await (const _part of encodeInThread({ format: 'PARQUET', columns, rows }, stop));
    }
    await expect(drain(failing())).rejects.toBe(failure)
    const stop = new AbortController()
    const reason = new Error('enough')
    async function* endless() {
      for (let count = 0; ; count += 1) {
        if (count === 50) stop.abort(reason)
        yield Buffer.from('1\r\n'.repeat(1_000))
      }
    }
    await expect(drain(endless(), stop.signal)).rejects.toBe(reason)
  })
})

const textOrNull = (value: string | number | bigint | null) => (value === null ? null : String(value))

/** The number of microseconds as text. */
function formatMicros(micros: bigint): string {
  const seconds = (micros - (((micros % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n
  const fraction = micros - seconds * 1_000_000n
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19).replace('T', ' ')}.${pad(Number(fraction), 6)}`
}

const isNumberText = (value: string) => /^-?\d/.test(value)
/** Floats are compared as numbers, everything else as text. */
const comparable = (cell: unknown): unknown => (typeof cell === 'bigint' ? String(cell) : cell)
const comparableRow = (cells: Row): unknown[] =>
  cells.map((cell, index) => {
    const { dataType } = everyType[index]!
    if (cell === null) return null
    if (dataType === 'FLOAT' || dataType === 'DOUBLE') return isNumberText(cell) ? Number(cell) : cell
    return cell
  })
