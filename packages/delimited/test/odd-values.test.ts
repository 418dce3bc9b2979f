import { describe, expect, it } from '@jest/globals'
import type { DelimitedOptions } from '../src/dialect/options.ts'
import { defaultLimits, type Limits } from '../src/limits.ts'
import { describeOddValue } from '../src/odd-values.ts'
import { Reading } from '../src/reading.ts'
import { detectText } from '../src/rows.ts'
import { TextFile } from '../src/text-file.ts'
import { inputFolder } from './read-whole.ts'

const folder = inputFolder()

/** What is said of a column of these values after a load has read the file. */
function said(values: readonly string[], options: DelimitedOptions = {}, limits: Limits = defaultLimits): string[] {
  const path = folder.write(`value,end\n${values.map((value) => `${value},x1\n`).join('')}`)
  using file = new TextFile(path, 'cases.csv')
  const reading = new Reading(file, detectText(file, options).dialect, limits)
  for (let isDone = false; !isDone; ) {
    const rows = reading.encode(reading.columns)
    let step = rows.next()
    while (!step.done) step = rows.next()
    isDone = 'rows' in step.value
  }
  return reading.oddValues().map(describeOddValue)
}

const dates = Array.from({ length: 1000 }, (_, day) => `${String((day % 28) + 1).padStart(2, '0')}/01/2024`)

describe('a column that is TEXT because of few values', () => {
  it('has its first odd value named with the line, wherever it is', () => {
    const among = (value: string, place: number) => dates.with(place, value)
    const oddDate = (value: string, line: number) => [
      `Column "value" is TEXT because of "${value}" in line ${line}; nearly all of its values are dates.`,
    ]
    expect(said(among('31/02/2024', 411))).toEqual(oddDate('31/02/2024', 413))
    expect(said(among('n/a', 0))).toEqual(oddDate('n/a', 2))
    expect(said(among('n/a', 999))).toEqual(oddDate('n/a', 1001))
    expect(said(among('01/31/2024', 100))).toEqual(oddDate('01/31/2024', 102))
    expect(said(among('n/a', 700).with(900, 'none'))).toEqual(oddDate('n/a', 702))
  })

  it('has one far behind the sample named, too', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => String(index + 1)).with(15_000, 'about 7')
    const small = { ...defaultLimits, wholeBytes: 1024, sampleBytes: 1024, slices: 1, sliceBytes: 64 }
    expect(said(many, {}, small)).toEqual([
      'Column "value" is TEXT because of "about 7" in line 15002; nearly all of its values are numbers.',
    ])
  })

  it('is not reported where the values are mixed, few, codes or of a type that was asked for', () => {
    expect(said(dates.map((date, index) => (index % 5 === 0 ? 'open' : date)))).toEqual([])
    expect(said(['1', '2', 'x'])).toEqual([])
    expect(said(Array.from({ length: 100 }, (_, index) => String(index + 1000)).with(50, '0012'))).toEqual([])
    expect(said(dates.with(5, 'n/a'), { columns: [{ label: 'value', dataType: 'TEXT' }] })).toEqual([])
    expect(said(dates.with(5, 'n/a'), { nullValues: ['n/a'] })).toEqual([])
  })
})
