import { describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import type { ColumnOptions, DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { createValuePrinter } from '../../src/export/values-in-source-format.ts'
import { readTuples } from '../../src/cells/read-tuples.ts'
import type { PreviewCell } from '../../src/preview/source-preview.ts'
import { startScanner } from '../../src/delimited/wasm-scanner.ts'
import { textOf } from './read-text.ts'

const scanner = startScanner()

const textOfCell = (cell: PreviewCell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell))

/** A column of a file: its fields, and the type that the options request. */
interface FormattedColumn {
  fields: string[]
  given?: Omit<ColumnOptions, 'label' | 'index'>
}

/**
 * Returns the source format of the second column of a file with semicolons, and its values in that format. Without a
 * format, returns the values as they are stored.
 */
function loadColumn({ fields, given }: FormattedColumn, decimal: 'POINT' | 'COMMA') {
  const lines = fields.map((field, row) => `n${row};${field}\n`)
  const columns = given ? [{ index: 1, ...given }] : []
  const options: DelimitedOptions = { delimiter: 'SEMI_COLON', headerRow: true, decimal, columns, footerLines: 0 }
  const file = textOf(`name;value\n${lines.join('')}`)
  const { dialect } = detectText(file, options)
  const reader = new DelimitedReader(file, dialect, defaultDelimitedLimits, scanner)
  for (;;) {
    const cells: PreviewCell[] = []
    const batches = reader.encode(reader.columns)
    for (let batch = batches.next(); ; batch = batches.next()) {
      if (batch.done) {
        if ('widened' in batch.value) break
        const format = reader.sourceFormats[1]
        const print = format === undefined ? String : createValuePrinter(format)
        const printed = cells.map((cell) => (cell === null ? '' : print(textOfCell(cell))))
        return { type: reader.columns[1]!.dataType, format, printed }
      }
      expect(batch.value.rejected).toEqual([])
      const rows = readTuples(batch.value.tuples, reader.columns, fields.length, 1e9).rows
      cells.push(...rows.map((row) => row[1]!))
    }
  }
}

const digits = (count: number) =>
  fc.bigInt({ min: 0n, max: 10n ** BigInt(count) - 1n }).map((n) => String(n).padStart(count, '0'))
const whole = fc
  .integer({ min: 0, max: 9 })
  .chain((count) => digits(count))
  .map((text) => text.replace(/^0+(?=\d)/, '') || '0')
const minus = fc.constantFrom('', '', '-')
const isNotSignedZero = (text: string) => !/^-[0.,]*$/.test(text)

/** Decimals with a fixed number of digits, or with the digits that each of them needs, with or without a zero before the point. */
const decimals = (sign: string) =>
  fc.record({ scale: fc.integer({ min: 1, max: 6 }), isFixed: fc.boolean(), isBare: fc.boolean() }).chain((format) =>
    fc.array(
      fc
        .tuple(minus, whole, digits(format.scale))
        .map(([before, integer, fraction]) => {
          const printed = format.isFixed ? fraction : fraction.replace(/0+$/, '')
          const start = format.isBare && integer === '0' && printed !== '' ? '' : integer
          return `${before}${start}${printed && sign}${printed}`
        })
        .filter(isNotSignedZero),
      { minLength: 1, maxLength: 20 },
    ),
  )

const date = fc
  .date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
  .map((value) => value.toISOString().slice(0, 10).split('-') as [string, string, string])
const dateFormats = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
  'DD-MM-YYYY',
  'MM-DD-YYYY',
] as const
const printDate = (format: string, [year, month, day]: readonly string[]) =>
  format.replace('YYYY', year!).replace('MM', month!).replace('DD', day!)

/** Dates, the first of which shows the order of day and month. */
const dates = fc.constantFrom(...dateFormats).chain((format) =>
  fc.array(date, { maxLength: 20 }).map((values) => ({
    format: format as string,
    fields: [['2024', '12', '31'], ...values].map((one) => printDate(format, one)),
  })),
)

const timeShape = fc.record({
  format: fc.constantFrom(...dateFormats),
  between: fc.constantFrom(' ', 'T'),
  seconds: fc.constantFrom('none', 'whole', 'fixed', 'needed'),
  scale: fc.integer({ min: 1, max: 6 }),
  zone: fc.constantFrom('', 'Z', '+00', '+02:00', '-0330', '+15:59', '-15:59', '-00:00'),
})
const times = timeShape.chain(({ format, between, seconds, scale, zone }) => {
  const clock = fc.tuple(fc.nat(23), fc.nat(59), fc.nat(59), digits(scale)).map(([hour, minute, second, fraction]) => {
    const [start, end] = [[hour, minute], [second]].map((parts) =>
      parts.map((one) => String(one).padStart(2, '0')).join(':'),
    )
    if (seconds === 'none') return start!
    const printed = seconds === 'fixed' ? fraction : seconds === 'needed' ? fraction.replace(/0+$/, '') : ''
    return `${start}:${end}${printed && `.${printed}`}`
  })
  const field = fc.tuple(date, clock).map(([day, time]) => `${printDate(format, day)}${between}${time}${zone}`)
  const first = `${printDate(format, ['2024', '12', '31'])}${between}`
  return fc
    .array(field, { minLength: 1, maxLength: 20 })
    .map((fields) => [`${first}${fields[0]!.split(between)[1]}`, ...fields])
})

const words = (pair: string) => {
  const [yes, no] = pair.split('|')
  return fc.array(fc.constantFrom(yes!, no!), { minLength: 1, maxLength: 20 })
}
const pairs = ['true|false', 't|f', 'yes|no', 'y|n', 'on|off', '1|0'].flatMap((pair) => [
  pair,
  pair.toUpperCase(),
  pair.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
])

const given = (dataType: DataType, more: object = {}) => ({ dataType, ...more })

/** Leaves out some values. */
const withNulls = (fields: string[], isNull: readonly boolean[]) =>
  fields.map((field, row) => (isNull[row] ? '' : field))
const nulls = fc.array(fc.boolean(), { maxLength: 10 })

describe('a column whose values have one source format', () => {
  it.each(['POINT', 'COMMA'] as const)('returns decimals with a decimal %s as they were', (decimal) => {
    fc.assert(
      fc.property(decimals(decimal === 'POINT' ? '.' : ','), nulls, (values, isNull) => {
        const fields = withNulls(values, isNull)
        fc.pre(fields.some((field) => field !== ''))
        const { format, printed } = loadColumn({ fields }, decimal)
        expect(printed).toEqual(fields)
        expect(format).toBeDefined()
      }),
    )
  })

  it('returns dates as they were', () => {
    fc.assert(
      fc.property(dates, nulls, ({ format, fields: values }, isNull) => {
        const fields = withNulls(values, [false, ...isNull])
        expect(loadColumn({ fields }, 'POINT')).toEqual({ type: 'DATE', format, printed: fields })
      }),
    )
  })

  it('returns times as they were, in every zone', () => {
    fc.assert(
      fc.property(times, nulls, (values, isNull) => {
        const fields = withNulls(values, [false, ...isNull])
        const { type, format, printed } = loadColumn({ fields }, 'POINT')
        expect(type).toMatch(/^TIMESTAMP/)
        expect(printed).toEqual(fields)
        expect(format).toBeDefined()
      }),
    )
  })

  it('returns booleans as they were', () => {
    fc.assert(
      fc.property(fc.constantFrom(...pairs).chain(words), (fields) => {
        expect(loadColumn({ fields, given: given('BOOLEAN') }, 'POINT')).toMatchObject({
          type: 'BOOLEAN',
          format: expect.any(String),
          printed: fields,
        })
      }),
    )
  })

  it('returns integers with leading zeros as they were, if their type is requested', () => {
    const column = fc.integer({ min: 2, max: 9 }).chain((width) =>
      fc.tuple(
        fc.constant(width),
        fc.array(
          fc.nat(999_999_999).map((n) => String(n).padStart(width, '0')),
          { minLength: 1 },
        ),
      ),
    )
    fc.assert(
      fc.property(column, fc.constantFrom<DataType>('INTEGER', 'BIGINT'), ([width, fields], dataType) => {
        const isPadded = fields.some((field) => field.startsWith('0'))
        const format = isPadded ? '0'.repeat(width) : '0'
        expect(loadColumn({ fields, given: given(dataType) }, 'POINT')).toEqual({
          type: dataType,
          format,
          printed: fields,
        })
      }),
    )
  })

  it.each([
    ['0,00', ['1234,50', '-0,25'], 'COMMA'],
    ['0.#', ['12', '0.5', '-1.25'], 'POINT'],
    ['#.00', ['.50', '12.25'], 'POINT'],
    ['0', ['12', '-7'], 'POINT'],
    ['TRUE|FALSE', ['TRUE', 'FALSE'], 'POINT'],
    ['DD.MM.YYYY HH:mm', ['31.12.2024 14:30', '01.02.2024 09:05'], 'POINT'],
    ['YYYY-MM-DDTHH:mm:ss.SSS+02:00', ['2024-12-31T14:30:00.000+02:00'], 'POINT'],
    ['YYYY-MM-DD HH:mm:ss.#', ['2024-12-31 14:30:00', '2024-12-31 14:30:00.25'], 'POINT'],
  ] as const)('has the format %s', (format, fields, decimal) => {
    expect(loadColumn({ fields: [...fields] }, decimal)).toMatchObject({ format, printed: fields })
  })
})

/** Values of one type, each in another format. */
const mixedColumns: [string, fc.Arbitrary<FormattedColumn>][] = [
  [
    'decimals',
    fc
      .array(fc.stringMatching(/^-?(0|[1-9]\d?)?\.\d{1,2}$|^(0|[1-9]\d?)$/), { minLength: 1, maxLength: 4 })
      .map((fields) => ({ fields })),
  ],
  [
    'requested decimals',
    fc
      .array(fc.stringMatching(/^[-+]?0{0,2}\d{1,3}(\.\d{1,3})?$/), { minLength: 1, maxLength: 4 })
      .map((fields) => ({ fields, given: given('DECIMAL', { precision: 20, scale: 6 }) })),
  ],
  [
    'requested integers',
    fc
      .array(fc.stringMatching(/^[-+]?0{0,3}\d{1,3}$/), { minLength: 1, maxLength: 4 })
      .map((fields) => ({ fields, given: given('INTEGER') })),
  ],
  [
    'times',
    fc
      .array(
        fc
          .oneof(
            times,
            dates.map(({ fields }) => fields),
          )
          .map((fields) => fields.at(-1)!),
        { minLength: 1, maxLength: 3 },
      )
      .map((fields) => ({ fields })),
  ],
  [
    'requested times',
    timeShape.chain(({ format }) =>
      fc
        .array(
          fc.tuple(
            date,
            fc.constantFrom('', ' 10:00', 'T10:00', ' 10:00:00', ' 10:00:00.5', ' 10:00:00.50', ' 10:00Z', ' 10:00+01'),
          ),
          { minLength: 1, maxLength: 3 },
        )
        .map((values) => ({
          fields: values.map(([day, time]) => printDate(format, day) + time),
          given: given('TIMESTAMPTZ', { dateFormat: format }),
        })),
    ),
  ],
  [
    'booleans',
    fc
      .array(
        fc.constantFrom(...pairs, 'tRUE|fALSE').chain((pair) => fc.constantFrom(...pair.split('|'))),
        { minLength: 1, maxLength: 3 },
      )
      .map((fields) => ({ fields, given: given('BOOLEAN') })),
  ],
]

describe('a column whose values have any formats', () => {
  it.each(mixedColumns)('has a format only if it returns all values as they were: %s', (_, column) => {
    const claims = { some: 0, none: 0 }
    fc.assert(
      fc.property(column, (one) => {
        const { format, printed } = loadColumn(one, 'POINT')
        claims[format === undefined ? 'none' : 'some']++
        if (format !== undefined) expect(printed).toEqual(one.fields)
      }),
      { numRuns: drawCount({ short: 200, long: 5_000 }) },
    )
    expect(claims.some).toBeGreaterThan(10)
    expect(claims.none).toBeGreaterThan(10)
  })

  it.each([
    ['1.50', '1.5'],
    ['0.5', '.5'],
    ['2024-12-31', '2024-12-31 10:00'],
    ['2024-12-31 10:00', '2024-12-31T10:00'],
    ['2024-12-31 10:00', '2024-12-31 10:00:00'],
    ['2024-12-31 10:00+01', '2024-12-31 10:00+02'],
    ['true', 'TRUE'],
  ])('has no format: %s and %s', (...fields) => {
    expect(loadColumn({ fields }, 'POINT').format).toBeUndefined()
  })

  it('has no format if it has no value, or only texts', () => {
    expect(loadColumn({ fields: ['', ''] }, 'POINT').format).toBeUndefined()
    expect(loadColumn({ fields: ['', ''], given: given('INTEGER') }, 'POINT').format).toBeUndefined()
    expect(loadColumn({ fields: ['1.234,50', 'x'] }, 'POINT').format).toBeUndefined()
  })
})
