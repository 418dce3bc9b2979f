import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { SourceProblem } from '@sluice/row-stream'
import { readText } from './read-text.ts'

/**
 * Scores detection and reading by the files of the Pollock benchmark (github.com/HPI-Information-Systems/Pollock), which are not
 * kept here: `node test/pollock.ts <folder>`, with the folder that holds `csv` and `clean`. Nothing is said about any file.
 * The score is its simple one, from 0 to 10: whether a file is read at all, and precision, recall and F1 of header, records and cells.
 */
const folder = process.argv[2]
if (folder === undefined || !existsSync(join(folder, 'clean'))) {
  console.error('Give a folder of the benchmark that holds csv and clean, such as polluted_files.')
  process.exit(2)
}

interface Table {
  header: string[]
  records: string[][]
}

const clean: DelimitedOptions = {
  delimiter: 'COMMA',
  quote: 'DOUBLE',
  escape: 'DOUBLED',
  headerRow: true,
  headerLines: 1,
  skipLines: 0,
  footerLines: 0,
  trailingDelimiters: 0,
  trimSpaces: false,
}

/** The table of a file; undefined where it is refused, empty where it is. */
function load(path: string, options: DelimitedOptions): Table | undefined {
  try {
    const { dialect, labels, rows } = readText(readFileSync(path), options)
    const dropped = Array.from({ length: dialect.trailing }, () => '')
    const records = rows.map((row) => [...row.map((cell) => cell?.trim() ?? ''), ...dropped])
    return { header: [...labels.map((label) => label.trim()), ...dropped], records }
  } catch (error) {
    if (!(error instanceof SourceProblem)) throw error
    return error.code === 'EMPTY_FILE' ? { header: [], records: [] } : undefined
  }
}

/** Precision, recall and F1 of what was found, as bags; all 1 where nothing was to be found. */
function measures(wanted: readonly string[], found: readonly string[]): number {
  if (wanted.length === 0) return 3
  const left = new Map<string, number>()
  for (const one of wanted) left.set(one, (left.get(one) ?? 0) + 1)
  let common = 0
  for (const one of found) {
    const times = left.get(one) ?? 0
    if (times === 0) continue
    left.set(one, times - 1)
    common++
  }
  if (common === 0) return 0
  const precision = common / found.length
  const recall = common / wanted.length
  return precision + recall + (2 * precision * recall) / (precision + recall)
}

function score(wanted: Table, found: Table | undefined): number {
  if (!found) return 0
  const lines = ({ records }: Table) => records.map((record) => record.join(''))
  const cells = ({ header, records }: Table) => [...header, ...records.flat()]
  return (
    1 +
    measures(wanted.header, found.header) +
    measures(lines(wanted), lines(found)) +
    measures(cells(wanted), cells(found))
  )
}

const scores = readdirSync(join(folder, 'csv')).map((name) => ({
  name,
  score: score(load(join(folder, 'clean', name), clean)!, load(join(folder, 'csv', name), {})),
}))
const mean = scores.reduce((sum, one) => sum + one.score, 0) / scores.length
console.log(`${mean.toFixed(3)} of 10 over ${scores.length} files; the worst:`)
for (const one of scores.toSorted((a, b) => a.score - b.score).slice(0, 25)) console.log(one.score.toFixed(2), one.name)
