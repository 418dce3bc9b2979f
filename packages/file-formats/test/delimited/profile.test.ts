import { describe, expect, it } from '@jest/globals'
import type { ColumnProfile } from '../../src/delimited/column-profile.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { TextFile } from '../../src/delimited/text-file.ts'
import { inputFolder } from './read-whole.ts'

const folder = inputFolder()

function profilesOf(content: string): ColumnProfile[] {
  using file = new TextFile(folder.write(content), 'cases.csv')
  const reading = new DelimitedReader(file, detectText(file, {}).dialect, defaultDelimitedLimits)
  const pass = reading.encode(reading.columns)
  for (;;) {
    const step = pass.next()
    if (!step.done) continue
    if ('widened' in step.value) throw new Error('The types did not hold')
    return step.value.profiles
  }
}

const tolerated = 0.15

describe('the profile of a column', () => {
  const rows = 60_000
  const line = (row: number) =>
    [
      row,
      `name ${row}`,
      row % 500,
      row % 3 === 0 ? '' : `word ${row % 7000}`,
      (row / 4).toFixed(2),
      row % 2 === 0,
      new Date(Date.UTC(2020, 0, 1 + (row % 900))).toISOString().slice(0, 10),
    ].join(',')
  const header = 'id,name,few,word,price,flag,day\n'
  const profiles = profilesOf(header + Array.from({ length: rows }, (_, row) => `${line(row)}\n`).join(''))

  it.each([
    ['id', rows],
    ['name', rows],
    ['few', 500],
    // Every third row is null, but 3 and 7,000 share no factor: each word occurs.
    ['word', 7000],
    ['price', rows],
    ['flag', 2],
    ['day', 900],
  ])('estimates the number of distinct values of %s within 15 %%', (label, different) => {
    const { distinct = 0 } = profiles[header.trim().split(',').indexOf(label)]!
    expect(Math.abs(distinct / different - 1)).toBeLessThan(tolerated)
  })

  it.each([50, 100, 1_000, 5_000, 25_000])(
    'estimates no more distinct values than there are non-null values in %d rows',
    (count) => {
      const cells = Array.from({ length: count }, (_, row) => `${row},value ${row},${row % 4 === 0 ? '' : row}\n`)
      const found = profilesOf(`id,text,some\n${cells.join('')}`).map(
        ({ distinct = 0, nulls }) => distinct - (count - nulls),
      )
      expect(Math.max(...found)).toBeLessThanOrEqual(0)
    },
  )

  it('does not count the values of rejected rows', () => {
    const lines = Array.from({ length: 2_000 }, (_, row) => (row % 2 === 0 ? `${row}` : `${row},too,many`))
    const [first] = profilesOf(`id,name\n${lines.map((line) => `${line}${line.includes(',') ? '' : ',x'}\n`).join('')}`)
    const distinct = first?.distinct
    expect(distinct).toBeGreaterThan(850)
    expect(distinct).toBeLessThanOrEqual(1_000)
  })

  it('reports nulls, minimum, maximum and maximum text length exactly', () => {
    expect(profiles.map(({ nulls, min, max, maxLength }) => [nulls, min, max, maxLength])).toEqual([
      [0, '0', '59999', undefined],
      [0, 'name 0', 'name 9999', 10],
      [0, '0', '499', undefined],
      [20_000, 'word 0', 'word 999', 9],
      [0, '0.00', '14999.75', undefined],
      [0, 'false', 'true', undefined],
      [0, '2020-01-01', '2022-06-18', undefined],
    ])
  })
})
