import { describe, expect, it } from '@jest/globals'
import type { PreviousDialect } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { inputFolder, readInPlace, type Whole } from './read-whole-file.ts'

const folder = inputFolder()

function read(text: string, remembered?: Partial<PreviousDialect>): Whole | { problem: string } {
  const known = remembered && { labels: ['id', 'd', 'v'], dayFirst: {}, numbers: [], ...remembered }
  return readInPlace(folder.write(text), known ? { previousDialect: known } : {}, defaultDelimitedLimits)
}

function typesOf(text: string, remembered?: Partial<PreviousDialect>): string[] {
  const whole = read(text, remembered)
  if ('problem' in whole) throw new Error(whole.problem)
  return whole.columns.map(({ dataType, evidence }) => (evidence ? `${dataType} ${evidence}` : dataType))
}

const lines = (...all: string[]) => `${all.join('\n')}\n`

describe('the evidence for an inferred type', () => {
  it('is NOTHING without values, AMBIGUOUS if day and month are unclear, and absent otherwise', () => {
    expect(typesOf(lines('id,d,v', '1,01/02/2026,', '2,03/04/2026,'))).toEqual([
      'SMALLINT',
      'TEXT AMBIGUOUS',
      'TEXT NOTHING',
    ])
    expect(typesOf(lines('id,d,v', '1,01/02/2026,x', '2,31/01/2026,'))).toEqual(['SMALLINT', 'DATE', 'TEXT'])
    expect(typesOf(lines('id,d,v', '1,01/02/2026 10:00,x', '2,word,'))).toEqual(['SMALLINT', 'TEXT', 'TEXT'])
  })
})

describe('the remembered dialect of earlier files', () => {
  it('sets the order of day and month', () => {
    const text = lines('id,d,v', '1,01/02/2026,x')
    for (const dayFirst of [true, false]) expect(typesOf(text, { dayFirst: { d: dayFirst } })[1]).toBe('DATE')
    const whole = read(text, { dayFirst: { d: true } }) as Whole
    expect(whole.columns[1]!.dateFormat).toBe('DD/MM/YYYY')
  })

  it('rejects a file with the other date order, and accepts one with the year first', () => {
    expect(read(lines('id,d,v', '1,01/31/2026,x'), { dayFirst: { d: true } })).toEqual({
      problem: 'DATE_ORDER_CHANGED',
    })
    expect(read(lines('id,d,v', '1,31/01/2026,x'), { dayFirst: { d: false } })).toEqual({
      problem: 'DATE_ORDER_CHANGED',
    })
    expect(typesOf(lines('id,d,v', '1,2026-01-31,x'), { dayFirst: { d: true } })[1]).toBe('DATE')
  })

  it('applies to columns whose labels differ only in case or punctuation', () => {
    const known: Partial<PreviousDialect> = { dayFirst: { d: true }, decimal: 'COMMA', numbers: ['v'] }
    expect(read(lines('ID;D;V', '1;01/31/2026;1'), known)).toEqual({ problem: 'DATE_ORDER_CHANGED' })
    expect(read(lines('ID;D;V ', '1;01/02/2026;1.5'), known)).toEqual({ problem: 'DECIMAL_SIGN_CHANGED' })
    expect(typesOf(lines('ID;D;V', '1;01/02/2026;2,50'), known)).toEqual(['SMALLINT', 'DATE', 'DECIMAL'])
  })

  it('sets the decimal sign, and rejects a file with the other one', () => {
    const known: Partial<PreviousDialect> = { delimiter: 'SEMI_COLON', decimal: 'COMMA', numbers: ['v'] }
    expect(typesOf(lines('id;d;v', '1;x;1'), known)[2]).toBe('SMALLINT')
    expect(read(lines('id;d;v', '1;x;1.234'), known)).toEqual({ problem: 'DECIMAL_SIGN_CHANGED' })
    expect(typesOf(lines('id;d;v', '1;x;1.234'), { ...known, numbers: [] })[2]).toBe('TEXT')
  })

  it('sets the delimiter if the file has the remembered columns', () => {
    const ragged = lines('id,d', '1,a', ...Array.from({ length: 90 }, () => '2'))
    expect(typesOf(ragged)).toHaveLength(1)
    const whole = read(ragged, { delimiter: 'COMMA', quote: 'DOUBLE', escape: 'DOUBLED', headerRow: true }) as Whole
    expect([whole.columns.length, whole.rows.length, whole.rejected.length]).toEqual([2, 1, 90])
    expect(typesOf(lines('id;d;v', '1;a;2'), { delimiter: 'COMMA', headerRow: true })).toHaveLength(3)
  })
})
