import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { below, pick, seeded } from './random-files.ts'
import { readText, textOf } from './read-text.ts'
import { readText as load } from './read-whole-file.ts'

const rowsOf = (text: string) =>
  readText(text, { strayQuotes: 'TEXT', headerRow: true, delimiter: 'COMMA', quote: 'DOUBLE' })
const row = (line: string, labels = 'a,b,c') => rowsOf(`${labels}\n${line}\n1,2,3\n`)

describe('a row with broken quotes and strayQuotes TEXT', () => {
  it.each<[string, string, string[]]>([
    ['a quote before a value', 'x,"y,z', ['x', '"y', 'z']],
    ['quotes around a part of a value', 'x,"y" z,w', ['x', '"y" z', 'w']],
    ['quotes that are not doubled', 'x,"an 8" pipe, long",w', ['x', 'an 8" pipe, long', 'w']],
    ['two quotes before a value', 'x,""y, z",w', ['x', '"y, z', 'w']],
    ['a quote as the last value', 'x,y,"', ['x', 'y', '"']],
    ['a stray quote beside a line break in quotes', 'x,"y\nz",w"" "v', ['x', 'y\nz', 'w"" "v']],
    ['a stray quote beside doubled quotes', '"x ""1""","y" z,w', ['x "1"', '"y" z', 'w']],
  ])('is read with %s', (_, line, cells) => {
    const { rows, rejected } = row(line)
    expect(rejected).toEqual([])
    expect(rows).toEqual([cells, ['1', '2', '3']])
  })

  it.each<[string, string]>([
    ['too few values', 'x,"y" z'],
    ['values in quotes that are too many', 'x,"y","z" ,"v",w'],
    ['several readings that are as good', '"y, z" 1,"v, w" 2'],
    ['too many values', '"x" 1,y,z,w'],
  ])('is rejected with %s', (_, line) => {
    const { rows, rejected } = row(line)
    expect(rows).toEqual([['1', '2', '3']])
    expect(rejected).toHaveLength(1)
  })

  it('is rejected without the option', () => {
    const { rows, rejected } = readText('a,b,c\nx,"y" z,w\n1,2,3\n')
    expect(rows).toEqual([['1', '2', '3']])
    expect(rejected).toHaveLength(1)
  })

  it('has its header read in the same way', () => {
    expect(rowsOf('a,"b" (m),c\nx,y,z\n1,2,3\n').labels).toEqual(['a', '"b" (m)', 'c'])
  })

  it('is rejected in time if it has very many quotes', () => {
    const labels = Array.from({ length: 1000 }, (_, index) => `c${index}`).join(',')
    const started = process.cpuUsage()
    const { rejected } = row(`"a"b,${'"x",'.repeat(5000)}`, labels)
    expect(rejected.length).toBeGreaterThan(0)
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000)
  })
})

/** Values as people write them, with delimiters, quotes and line breaks. */
const values = ['Accra', '12', 'an 8" pipe', 'Ama, Kofi', 'said "yes", then', 'two\nlines', '', '7.5', "Men's"]

it('a stray quote changes its own row only, and never the number of its values', () => {
  const outcomes = { read: 0, rejected: 0 }
  for (let seed = 1; seed <= drawCount({ short: 500, long: 100_000 }); seed++) {
    const random = seeded(seed)
    const width = 3 + below(random, 4)
    const cells = Array.from({ length: 6 }, () => Array.from({ length: width }, () => pick(random, values)))
    const lines = cells.map((one) =>
      one.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(','),
    )
    const broken = below(random, lines.length)
    const at = below(random, lines[broken]!.length + 1)
    const text = (all: readonly string[]) =>
      `${Array.from({ length: width }, (_, index) => `c${index}`).join(',')}\n${all.join('\n')}\n`
    const damaged = text(lines.toSpliced(broken, 1, `${lines[broken]!.slice(0, at)}"${lines[broken]!.slice(at)}`))
    const strict = readText(damaged, { headerRow: true, delimiter: 'COMMA', quote: 'DOUBLE' })
    const { rows, rejected, dialect } = rowsOf(damaged)
    // Every row of the strict reading stays, in its order, and the others are read in full or rejected.
    let next = 0
    for (const one of rows) if (JSON.stringify(one) === JSON.stringify(strict.rows[next])) next++
    expect({ seed, kept: next, widths: rows.every((one) => one.length === width) }).toEqual({
      seed,
      kept: strict.rows.length,
      widths: true,
    })
    expect({ seed, all: rows.length + rejected.length }).toEqual({
      seed,
      all: strict.rows.length + strict.rejected.length,
    })
    outcomes.read += rows.length - strict.rows.length
    outcomes.rejected += rejected.length
    const loaded = load(textOf(damaged), dialect, { ...defaultDelimitedLimits, readBytes: pick(random, [64, 1000]) })
    expect({ seed, rows: loaded.rows.map((one) => one.map((cell) => cell ?? '')) }).toEqual({
      seed,
      rows: rows.map((one) => one.map((cell) => cell ?? '')),
    })
  }
  expect(outcomes.read).toBeGreaterThan(100)
  expect(outcomes.rejected).toBeGreaterThan(100)
})

it('names from the options are the labels of a file without a header', () => {
  const columns = [
    { index: 0, name: 'Place name' },
    { index: 2, name: 'day' },
  ]
  const { dialect } = detectText(textOf('Accra,1,2024-01-31\nHo,2,2024-02-01\n'), { headerRow: false, columns })
  expect(dialect.labels).toEqual(['Place name', 'column_2', 'day'])
})
