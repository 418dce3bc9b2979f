import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SourceProblem } from '@sluice/row-stream'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { type Lines, pollockScore } from './pollock-score.ts'
import { readText } from './read-text.ts'

/**
 * Scores detection and reading by the files of the Pollock benchmark (github.com/HPI-Information-Systems/Pollock), which this repository
 * does not contain: `node test/delimited/pollock-benchmark.ts <folder>`, with the folder `polluted_files` that has `csv`, `clean` and `parameters`,
 * beside `pollock_weights.json`. Prints the mean of all files and the mean weighted by how common a defect is, each by detection alone and
 * with the options that the parameters of a file contain, and then the kinds of files that cost most. Values count as the file has them; a
 * table without a header row has no header line.
 */
const folder = process.argv[2]
if (folder === undefined || !existsSync(join(folder, 'clean'))) {
  console.error('Give a folder of the benchmark that holds csv, clean and parameters, such as polluted_files.')
  process.exit(2)
}

const asWritten: DelimitedOptions = {
  delimiter: 'COMMA',
  quote: 'DOUBLE',
  escape: 'DOUBLED',
  headerRow: false,
  skipLines: 0,
  footerLines: 0,
  trailingDelimiters: 0,
  trimSpaces: false,
}

/** Returns the header and the rows of a file; nothing for an empty file, and undefined for a file that is refused. */
function loadLines(path: string, options: DelimitedOptions): Lines | undefined {
  try {
    const { guesses, labels, rows } = readText(readFileSync(path), options)
    const records = rows.map((row) => row.map((cell) => cell ?? ''))
    return guesses.headerRow.value || options.columns ? [labels, ...records] : records
  } catch (error) {
    if (!(error instanceof SourceProblem)) throw error
    return error.code === 'EMPTY_FILE' ? [] : undefined
  }
}

interface Parameters {
  delimiter: string
  quotechar: string
  escapechar: string
  header_lines: number
  preamble_lines: number
  footnote_lines: number
  column_names: string[]
  n_columns: number
}

/** Returns the options that a user sets who knows the parameters of a file. */
function knownOptions(name: string): DelimitedOptions {
  const text = readFileSync(join(folder!, 'parameters', `${name}_parameters.json`), 'utf8')
  const { delimiter, quotechar, escapechar, ...table } = JSON.parse(text) as Parameters
  // The user names the columns and skips the header, which may be damaged.
  const named = table.n_columns > 0 && table.column_names.length === table.n_columns
  return {
    ...(delimiter !== '' && { delimiter: delimiter[0]! }),
    quote: quotechar === "'" ? 'SINGLE' : 'DOUBLE',
    escape: escapechar === '\\' ? 'BACKSLASH' : 'DOUBLED',
    strayQuotes: 'TEXT',
    trimSpaces: delimiter.length > 1,
    trailingDelimiters: 0,
    headerRow: !named && table.header_lines > 0,
    skipLines: table.preamble_lines + (named ? table.header_lines : 0),
    ...(named && { columns: table.column_names.map((name, index) => ({ index, name })) }),
    footerLines: table.footnote_lines,
  }
}

const weights = JSON.parse(readFileSync(join(folder, '..', 'pollock_weights.json'), 'utf8')) as Record<string, number>
const names = readdirSync(join(folder, 'csv'))
const totalWeight = names.reduce((sum, name) => sum + weights[name]!, 0)

/** The points that a kind of file loses in both means, and the number of its files. */
interface Loss {
  files: number
  simple: number
  weighted: number
}

function printScores(title: string, optionsOf: (name: string) => DelimitedOptions): void {
  const losses = new Map<string, Loss>()
  for (const name of names) {
    const clean = loadLines(join(folder!, 'clean', name), asWritten) ?? []
    const lost = 10 - pollockScore(clean, loadLines(join(folder!, 'csv', name), optionsOf(name)))
    const kind = name.replace(/(row_.*?)[1-9]\d*/, '$1N').replace(/col\d+/, 'colN')
    const loss = losses.get(kind) ?? { files: 0, simple: 0, weighted: 0 }
    loss.files++
    loss.simple += lost / names.length
    loss.weighted += (lost * weights[name]!) / totalWeight
    losses.set(kind, loss)
  }
  const sum = (key: 'simple' | 'weighted') => [...losses.values()].reduce((total, loss) => total + loss[key], 0)
  console.log(`${title}: ${(10 - sum('simple')).toFixed(3)} simple, ${(10 - sum('weighted')).toFixed(3)} weighted`)
  for (const [kind, { files, simple, weighted }] of [...losses].toSorted((a, b) => b[1].weighted - a[1].weighted)) {
    if (simple > 0) console.log(`  -${simple.toFixed(4)} simple, -${weighted.toFixed(4)} weighted: ${kind} (${files})`)
  }
}

console.log(`${names.length} files`)
printScores('By detection', () => ({}))
printScores('With options', knownOptions)
