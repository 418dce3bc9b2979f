import { describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { readTuples } from '../../src/cells/read-tuples.ts'
import { textOf } from './read-text.ts'

/** Returns the type of the second column and its values as a load stores them. */
function loadSecond(text: string, options: DelimitedOptions = {}) {
  const file = textOf(text)
  const { dialect, notes } = detectText(file, options)
  const reader = new DelimitedReader(file, dialect, defaultDelimitedLimits)
  const values: unknown[] = []
  for (const { tuples, rejected } of reader.encode(reader.columns)) {
    expect(rejected).toEqual([])
    values.push(...readTuples(tuples, reader.columns, 100, 1e6).rows.map((row) => row[1]))
  }
  return { type: reader.columns[1]!.dataType, values, notes }
}

const nbsp = '\u00a0'
const narrowNbsp = '\u202f'

/** The values of a column as a spreadsheet prints them, and as they are stored; TEXT keeps them as they are. */
const columns: [string, string, string[], string, unknown[]?][] = [
  ['de, fr, es and pt-BR decimals', ';', ['1234,5', '-12', '0,25'], 'DECIMAL', ['1234.5', '-12', '0.25']],
  ['de and es thousands with decimals', ';', ['1.234,50', '12,00'], 'TEXT'],
  ['de thousands without decimals', ';', ['1.234', '2.500', '12'], 'TEXT'],
  ['de thousands in two groups', ';', ['1.234.567', '12'], 'TEXT'],
  ['de thousands beside a decimal comma', ';', ['1.234', '0,5'], 'TEXT'],
  ['fr thousands with a space', ';', ['1 234,50', '12,00'], 'TEXT'],
  ['fr thousands with a no-break space', ';', [`1${nbsp}234,50`, '12,00'], 'TEXT'],
  ['fr thousands with a narrow no-break space', ';', [`1${narrowNbsp}234,50`, '12,00'], 'TEXT'],
  ['fr whole thousands with a narrow no-break space', ';', [`1${narrowNbsp}234`, '12'], 'TEXT'],
  ['de-CH thousands with an apostrophe', ';', ["1'234.50", '12.00'], 'TEXT'],
  ['de-CH thousands with a typographic apostrophe', ';', ['1’234.50', '12.00'], 'TEXT'],
  ['en-US decimals', ',', ['1234.50', '-0.25'], 'DECIMAL', ['1234.50', '-0.25']],
  ['en-US decimals with three digits', ',', ['1.234', '2.500'], 'DECIMAL', ['1.234', '2.500']],
  ['en-US thousands', ',', ['"1,234"', '"2,500"'], 'TEXT'],
  ['en-US thousands with decimals', ',', ['"1,234.50"', '12.00'], 'TEXT'],
  ['en-US thousands in a file with semicolons', ';', ['1,234', '2,500'], 'TEXT'],
  [
    'decimal points with three digits beside one that can only be decimal',
    ';',
    ['1.234', '0.5'],
    'DECIMAL',
    ['1.234', '0.5'],
  ],
  ['a minus at the end', ',', ['12.50-', '3.00'], 'TEXT'],
  ['negative numbers in brackets', ',', ['(12.50)', '3.00'], 'TEXT'],
  ['a typographic minus', ';', ['−12,50', '3,00'], 'TEXT'],
  ['percentages', ';', ['12,5 %', '3 %'], 'TEXT'],
  ['en-US percentages', ',', ['12.5%', '3%'], 'TEXT'],
  ['a currency after the number', ';', ['5,00 €', `7,50${nbsp}€`], 'TEXT'],
  ['a currency before the number', ',', ['$5.00', '$7.50'], 'TEXT'],
  ['a pt-BR currency', ';', ['R$ 5,00', 'R$ 7,50'], 'TEXT'],
  ['numbers in both notations', ';', ['1.234,5', '1,234.5'], 'TEXT'],
  ['de dates', ';', ['31.12.2024', '01.02.2024'], 'DATE', ['2024-12-31', '2024-02-01']],
  ['fr, es, pt-BR and en-GB dates', ';', ['31/12/2024', '01/02/2024'], 'DATE', ['2024-12-31', '2024-02-01']],
  ['en-US dates', ',', ['12/31/2024', '01/02/2024'], 'DATE', ['2024-12-31', '2024-01-02']],
  ['dates whose day and month may be swapped', ',', ['01/02/2024', '03/04/2024'], 'TEXT'],
  ['dates in both orders', ',', ['31/12/2024', '12/31/2024'], 'TEXT'],
  ['en-US dates without leading zeros', ',', ['12/31/2024', '1/2/2024'], 'TEXT'],
  ['years of two digits', ';', ['31.12.24', '01.02.24'], 'TEXT'],
  ['names of months', ';', ['31-Dez-2024', '01-Feb-2024'], 'TEXT'],
  [
    'pt-BR dates with times',
    ';',
    ['31/12/2024 14:30', '01/02/2024 09:05'],
    'TIMESTAMP',
    ['2024-12-31 14:30:00', '2024-02-01 09:05:00'],
  ],
  ['en-US times', ',', ['12/31/2024 2:30 PM', '01/02/2024 9:05 AM'], 'TEXT'],
  ['times alone', ',', ['14:30', '09:05'], 'TEXT'],
  ['booleans of de and fr', ';', ['WAHR', 'FAUX'], 'TEXT'],
]

describe('a column as a spreadsheet prints it', () => {
  it.each(columns.map((column) => [column[0], column] as const))(
    'has the right values or stays text: %s',
    (_, column) => {
      const [, delimiter, printed, type, stored] = column
      const text = `name${delimiter}value\n${printed.map((value, row) => `n${row}${delimiter}${value}\n`).join('')}`
      const texts = printed.map((value) => (value.startsWith('"') ? value.slice(1, -1) : value))
      expect(loadSecond(text)).toMatchObject({ type, values: stored ?? texts })
    },
  )

  const thousands = 'name;value\nx;1.234\ny;2.500\n'

  it('has numbers such as 1.234 only after the options say that points are decimal', () => {
    const { type, notes } = loadSecond(thousands)
    expect(type).toBe('TEXT')
    expect(notes).toEqual([
      'Column "value" is TEXT because the points in its numbers may be decimal points or separate thousands. If they are decimal points, set decimal to POINT.',
    ])
    expect(loadSecond(thousands, { decimal: 'POINT' })).toEqual({
      type: 'DECIMAL',
      values: ['1.234', '2.500'],
      notes: [],
    })
    expect(loadSecond(thousands, { decimal: 'COMMA' })).toMatchObject({ type: 'TEXT', notes: [] })
  })

  it('has numbers such as 1.234 if the table has decimal points from an earlier file', () => {
    const remembered = { decimal: 'POINT' as const, labels: ['name', 'value'], dayFirst: {}, numbers: ['value'] }
    expect(loadSecond(thousands, { previousDialect: remembered })).toMatchObject({
      type: 'DECIMAL',
      values: ['1.234', '2.500'],
    })
  })
})
