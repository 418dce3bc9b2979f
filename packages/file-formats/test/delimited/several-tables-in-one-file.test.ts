import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { below, pick, type Random, seeded } from './random-files.ts'
import { readText, textOf } from './read-text.ts'
import { readText as load } from './read-whole-file.ts'

interface DrawnTable {
  labels: string[]
  rows: string[][]
  title: string | undefined
}

const towns = ['Accra', 'Kumasi', 'Tamale', 'Ho', 'Wa']
const nouns = ['cases', 'deaths', 'visits', 'tests', 'beds', 'doses', 'births', 'staff']

function drawTable(random: Random, rowCount: number, width: number): DrawnTable {
  const labels = Array.from(
    { length: width - 1 },
    (_, index) => `${pick(random, nouns)} ${index + below(random, 3) * 100}`,
  )
  return {
    labels: [pick(random, ['town', 'place name', 'district']), ...labels],
    rows: Array.from({ length: rowCount }, () => [
      pick(random, towns),
      ...labels.map((_, index) =>
        index === 0 ? `2024-0${1 + below(random, 9)}-1${below(random, 9)}` : String(below(random, 5000)),
      ),
    ]),
    title: random() < 0.5 ? `${pick(random, ['Report', 'Summary'])} of ${pick(random, towns)}` : undefined,
  }
}

const textOfTable = ({ labels, rows }: DrawnTable, delimiter: string, end: string) =>
  [labels, ...rows].map((cells) => cells.join(delimiter) + end).join('')

/** Fills all lines with delimiters up to the widest one, as spreadsheets save them; blank lines too if `withBlanks`. */
function pad(text: string, delimiter: string, withBlanks: boolean): string {
  const lines = text.split('\n').map((line) => line.replace('\r', ''))
  const fieldCounts = lines.map((line) => line.split(delimiter).length)
  const widest = Math.max(...fieldCounts)
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const padLine = (line: string, index: number) =>
    line === '' && !withBlanks ? '' : line + delimiter.repeat(widest - fieldCounts[index]!)
  return lines
    .slice(0, -1)
    .map((line, index) => padLine(line, index) + end)
    .join('')
}

/**
 * Returns the tables one below the other, with blank lines between them if two neighbours have the same number of
 * columns, or always if they are padded.
 */
function drawFile(random: Random, isPadded: boolean) {
  const counts = [3 + below(random, 20), 30 + below(random, 20), 3 + below(random, 20)].slice(0, 2 + below(random, 2))
  const tables = counts.map((rowCount) => drawTable(random, rowCount, 3 + below(random, 4)))
  const delimiter = pick(random, [',', ';', '\t'])
  const end = pick(random, ['\n', '\r\n'])
  let text = ''
  const firstLines: number[] = []
  for (const [index, table] of tables.entries()) {
    const needsGap = index > 0 && (isPadded || tables[index - 1]!.labels.length === table.labels.length)
    if (needsGap || (index > 0 && random() < 0.5)) text += end.repeat(1 + below(random, 2))
    firstLines.push(text.split('\n').length)
    if (table.title !== undefined) text += table.title + end
    text += textOfTable(table, delimiter, end)
  }
  return { text: isPadded ? pad(text, delimiter, random() < 0.5) : text, tables, firstLines }
}

describe.each([
  ['as scripts write it', false],
  ['padded as spreadsheets save it', true],
])('a file with several tables, %s,', (_, isPadded) => {
  it('has its largest table read without rejected rows, and the others named by their lines', () => {
    for (let seed = 1; seed <= drawCount({ short: 100, long: 20_000 }); seed++) {
      const { text, tables, firstLines } = drawFile(seeded(seed), isPadded)
      const { labels, rows, rejected, unread } = readText(text)
      expect({ seed, labels, rows, rejected }).toEqual({
        seed,
        labels: tables[1]!.labels,
        rows: tables[1]!.rows,
        rejected: [],
      })
      for (const [index, line] of firstLines.entries()) if (index !== 1) expect(unread).toContain(`lines ${line} to `)
    }
  })

  it('has each table read with the skipLines that the message names', () => {
    for (let seed = 1; seed <= drawCount({ short: 100, long: 20_000 }); seed++) {
      const { text, tables } = drawFile(seeded(seed), isPadded)
      const { unread } = readText(text)
      const skipLines = [...unread!.matchAll(/\(skipLines (\d+)\)/g)].map(([, lines]) => Number(lines))
      const others = tables.filter((_, index) => index !== 1)
      expect(skipLines).toHaveLength(others.length)
      for (const [index, table] of others.entries()) {
        const other = readText(text, { skipLines: skipLines[index]! })
        expect({ seed, labels: other.labels, rows: other.rows, rejected: other.rejected }).toEqual({
          seed,
          labels: table.labels,
          rows: table.rows,
          rejected: [],
        })
      }
    }
  })

  it('has the same table read without a message when the named options confirm it', () => {
    for (let seed = 1; seed <= drawCount({ short: 100, long: 20_000 }); seed++) {
      const { text, tables } = drawFile(seeded(seed), isPadded)
      const [, skipLines, footerLines] = /; skipLines (\d+) and footerLines (\d+) keep/.exec(readText(text).unread!)!
      const confirmed = readText(text, { skipLines: Number(skipLines), footerLines: Number(footerLines) })
      expect({ seed, unread: confirmed.unread, rows: confirmed.rows }).toEqual({
        seed,
        unread: undefined,
        rows: tables[1]!.rows,
      })
    }
  })
})

it('a table that continues after the parsed part of a file is read instead of a shorter one above it', () => {
  const above = textOfTable(drawTable(seeded(1), 1_200, 4), ',', '\n')
  const table = drawTable(seeded(2), 3_000, 3)
  const { rows, rejected, unread } = readText(`${above}\n${textOfTable(table, ',', '\n')}`)
  expect([rows, rejected]).toEqual([table.rows, []])
  expect(unread).toMatch(
    /^Only the table in line 1203 on .* another table seems to be in lines 1 to 1201 \(skipLines 0\)/,
  )
})

const counts = 'town,cases,deaths\nAccra,5,1\nHo,7,2\nWa,1,0\n'

describe('one table', () => {
  it.each<[string, string]>([
    ['names with values above it', `Exported by,Anna\nDate,2024-01-31\nRows,3\n\n${counts}`],
    ['notes below it', `${counts}\nSource: the ministry\nNote: 2, 3 and 4 are estimates\n`],
    ['its header again, as concatenated files have it', `${counts}town,cases,deaths\nTamale,4,1\nKumasi,3,3\n`],
    ['rows with values that are too many', `${counts}Tamale,4,1,x\nKumasi,3,3\n`],
    ['a row of text below a blank line', `${counts}\nKumasi,unknown,unknown\nTamale,4,1\nTema,5,1\n`],
    ['a row with a missing value below a blank line', `${counts}\nKumasi,NA,unknown\nTamale,4,1\nTema,5,1\n`],
    ['a row below a blank line that lacks its last values', `${counts}\nKumasi,unknown,\nTamale,4,\nTema,5,\n`],
    ['only text', 'a,b,c\nx,y,z\n\nd,e,f\nu,v,w\nr,s,t\n'],
  ])('is not divided if it has %s', (_, text) => {
    expect(readText(text).unread).toBeUndefined()
    for (const withBlanks of [true, false]) expect(readText(pad(text, ',', withBlanks)).unread).toBeUndefined()
  })

  it('is read completely with footerLines 0, even if it seems to be several', () => {
    const text = `${counts}\nplace,visits,beds\nTema,1,2\nHo,3,4\n`
    expect(readText(text).rows).toHaveLength(3)
    const whole = readText(text, { footerLines: 0 })
    expect(whole.unread).toBeUndefined()
    expect(whole.rows).toHaveLength(6)
  })
})

it('a padded title does not become the header, whether or not the blank lines and the table below are padded', () => {
  for (const titles of ['Report,,\n,,\n', 'Report,,\n\n', 'Report,,\n', 'Report,,\nof May,,\n\n']) {
    for (const rest of ['', '\nStock,,\n\nitem,amount,price\nGloves,5,2\nMasks,7,3\n']) {
      const { labels, rows, rejected, unread } = readText(`${titles}${counts}${rest}`)
      expect([titles, labels, rows.length, rejected]).toEqual([titles, ['town', 'cases', 'deaths'], 3, []])
      expect(unread === undefined).toBe(rest === '')
    }
  }
})

it.each(['NA,NA', '"NULL",', '-,n/a'])(
  'a first row without values, such as %s, does not become part of the header',
  (row) => {
    const { labels, rows } = readText(`x,y\n${row}\n1,2\n3,4\n5,6\n`)
    expect([labels, rows.length]).toEqual([['x', 'y'], 4])
  },
)

describe('a header that occurs again between the rows', () => {
  it('is left out at each place, and the rows around it are read as one table', () => {
    const text = `${counts}town,cases,deaths\nTamale,4,1\n"town","cases","deaths"\nKumasi,3,3\n`
    const { rows, rejected, notes } = readText(text)
    expect(rows.map(([town]) => town)).toEqual(['Accra', 'Ho', 'Wa', 'Tamale', 'Kumasi'])
    expect(rejected).toEqual([])
    expect(notes).toEqual(['The header occurs again between the rows, first in line 5. These lines are left out.'])
  })

  it('leaves the types of the rows as they are, in short and long files', () => {
    for (const copies of [2, 400]) {
      const text = textOf(`${counts}${'Wa,1,0\n'.repeat(1000)}`.repeat(copies))
      const { dialect } = detectText(text, {})
      const { columns, rows } = load(text, dialect, { ...defaultDelimitedLimits, wholeBytes: 100_000 })
      expect(columns.map(({ dataType }) => dataType)).toEqual(['TEXT', 'SMALLINT', 'SMALLINT'])
      expect(rows).toHaveLength(1003 * copies)
    }
  })

  it('stays a row if nothing shows that the first line is a header', () => {
    expect(readText('a,b,c\nx,y,z\na,b,c\n', { headerRow: true }).rows).toHaveLength(2)
  })
})

describe('a file that is longer than the sample', () => {
  const long = Array.from({ length: 30_000 }, (_, row) => `Accra,${row},${row % 7},2024-01-31\n`).join('')

  it('has the table read that continues after the sample', () => {
    const { rows, unread } = readText(`${counts}\ntown,visits,beds,date\n${long}`)
    expect(rows).toHaveLength(30_000)
    expect(unread).toBe(
      'Only the table in line 6 on of input.csv was read; another table seems to be in lines 1 to 4 (skipLines 0). Choose a table with csvOptions.skipLines and csvOptions.footerLines; skipLines 5 and footerLines 0 keep this one.',
    )
  })

  it('has the first table read if the options skip no lines, and a footer of any number of lines', () => {
    const text = `${counts}\ntown,visits,beds,date\n${long}`
    const first = readText(text, { skipLines: 0 })
    expect(first.rows).toEqual([
      ['Accra', '5', '1'],
      ['Ho', '7', '2'],
      ['Wa', '1', '0'],
    ])
    expect(first.unread).toContain('skipLines 0 and footerLines 30001 keep this one')
    expect(readText(text, { skipLines: 0, footerLines: 30_002 }).rows).toEqual(first.rows)
  })
})
