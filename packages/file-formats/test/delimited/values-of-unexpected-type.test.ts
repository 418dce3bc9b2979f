import { describe, expect, it } from '@jest/globals'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits, type DelimitedLimits } from '../../src/delimited/limits.ts'
import { describeOddValue } from '../../src/delimited/values-of-unexpected-type.ts'
import { previewRows } from '../../src/delimited/sample/preview-rows.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { TextFile } from '../../src/delimited/text-file.ts'
import { inputFolder } from './read-whole-file.ts'

const folder = inputFolder()

/** Returns the messages about a column of these values after a load has read the file. */
function describeValues(
  values: readonly string[],
  options: DelimitedOptions = {},
  limits: DelimitedLimits = defaultDelimitedLimits,
): string[] {
  const path = folder.write(`value,end\n${values.map((value) => `${value},x1\n`).join('')}`)
  using file = new TextFile(path, 'cases.csv')
  const reading = new DelimitedReader(file, detectText(file, options).dialect, limits)
  for (let isDone = false; !isDone; ) {
    const rows = reading.encode(reading.columns)
    let step = rows.next()
    while (!step.done) step = rows.next()
    isDone = 'rows' in step.value
  }
  return reading.findOddValues().map(describeOddValue)
}

const dates = Array.from({ length: 1000 }, (_, day) => `${String((day % 28) + 1).padStart(2, '0')}/01/2024`)

describe('a column that is TEXT because of a few odd values', () => {
  it('is reported with its first odd value and the line number', () => {
    const among = (value: string, place: number) => dates.with(place, value)
    const oddDate = (value: string, line: number) => [
      `Column "value" is TEXT because of "${value}" in line ${line}; most of its values are dates.`,
    ]
    expect(describeValues(among('31/02/2024', 411))).toEqual(oddDate('31/02/2024', 413))
    expect(describeValues(among('n/a', 0))).toEqual(oddDate('n/a', 2))
    expect(describeValues(among('n/a', 999))).toEqual(oddDate('n/a', 1001))
    expect(describeValues(among('01/31/2024', 100))).toEqual(oddDate('01/31/2024', 102))
    expect(describeValues(among('n/a', 700).with(900, 'none'))).toEqual(oddDate('n/a', 702))
  })

  it('is reported by a preview that reads only the first 4 MB', () => {
    const first = Array.from({ length: 19 }, (_, index) => `${index + 1},x\n`)
    const long = Array.from({ length: 5 }, () => `1,${'x'.repeat(1024 * 1024)}\n`)
    const last = Array.from({ length: 20 }, () => 'n/a,x\n')
    const path = folder.write(`value,end\n${[...first, 'odd,x\n', ...long, ...last].join('')}`)
    expect(previewRows({ path, name: 'cases.csv' }, {}).notes).toContain(
      'Column "value" is TEXT because of "odd" in line 21; most of its values are numbers.',
    )
  })

  it('is reported also if the odd value is far after the sample', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => String(index + 1)).with(15_000, 'about 7')
    const small = { ...defaultDelimitedLimits, wholeBytes: 1024, sampleBytes: 1024, slices: 1, sliceBytes: 64 }
    expect(describeValues(many, {}, small)).toEqual([
      'Column "value" is TEXT because of "about 7" in line 15002; most of its values are numbers.',
    ])
  })

  it('is reported in a short file, and if a grouped number hides the decimal comma', () => {
    expect(describeValues(['1', '2', 'about 7', '3'])).toEqual([
      'Column "value" is TEXT because of "about 7" in line 4; most of its values are numbers.',
    ])
    const path = folder.write(`id;value\n1;12,50\n2;7\n3;1.234,50\n4;0,75\n5;,5\n`)
    const { columns, notes } = previewRows({ path, name: 'cases.csv' }, {})
    expect(columns[1]!.dataType).toBe('TEXT')
    expect(notes).toContain(
      'Column "value" is TEXT because of "1.234,50" in line 4; most of its values are numbers with a decimal comma.',
    )
  })

  it('is reported for 20 columns, and counted for the others', () => {
    const labels = Array.from({ length: 23 }, (_, index) => `c${index}`)
    const lines = ['1', '2', 'x', '4'].map((value) => labels.map(() => value).join(','))
    const path = folder.write([labels.join(','), ...lines, ''].join('\n'))
    const { notes } = previewRows({ path, name: 'cases.csv' }, {})
    expect(notes.filter((note) => note.includes('because of "x" in line 4'))).toHaveLength(20)
    expect(notes.at(-1)).toBe('3 more columns of text have such values.')
  })

  it('is not reported if its values are mixed, few, or codes, or if the options set its type', () => {
    expect(describeValues(dates.map((date, index) => (index % 5 === 0 ? 'open' : date)))).toEqual([])
    expect(describeValues(['1', '2', 'x'])).toEqual([])
    expect(describeValues(['1', '2', '3', 'x', 'y'])).toEqual([])
    expect(describeValues(Array.from({ length: 100 }, (_, index) => String(index + 1000)).with(50, '0012'))).toEqual([])
    expect(describeValues(dates.with(5, 'n/a'), { columns: [{ label: 'value', dataType: 'TEXT' }] })).toEqual([])
    expect(describeValues(dates.with(5, 'n/a'), { nullValues: ['n/a'] })).toEqual([])
  })
})
