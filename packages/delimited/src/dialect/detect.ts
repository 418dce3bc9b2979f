import { countLineEnds } from '../scan.ts'
import { cellTexts } from './cell-text.ts'
import { chooseGrammar } from './choose.ts'
import { columnOptions } from './columns.ts'
import type { Detected, Dialect } from './dialect.ts'
import { behindLines, findFooter, type Footer, lastLines, steadyKind } from './footer.ts'
import { givenGrammar, separatorDirective } from './given.ts'
import { guessesOf } from './guesses.ts'
import { DelimitedProblem } from '../problem.ts'
import { assertUsable, type DelimitedOptions, type Remembered } from './options.ts'
import { type ParsedSample, parseSample } from './parse.ts'
import { assertReadable, assertRows } from './readable.ts'
import { type ReadableFile, readSample, type Sample, sampleBytes } from './sample.ts'
import { findTable, type Table } from './table.ts'
import { areDecimals, type DecimalGuess, guessDecimal, suggestNulls } from './values.ts'
import { notesOf } from './words.ts'

const parsedRecords = { records: 2000, cells: 20_000 }
/** The most that is read before a file is understood: one record may be that long. */
export const longestSample = 16 * 1024 * 1024
const valuesSeen = 1000

/**
 * How a file of UTF-8 is to be read, guessed from its first 256 KB and its last 64 KB; what `options` says is not guessed.
 * Throws DelimitedProblem EMPTY_FILE, LINES_ALL_SKIPPED, HEADER_NOT_READABLE, NO_READABLE_ROW, TOO_MANY_COLUMNS or OPTIONS_NOT_USABLE.
 */
export function detectDialect(file: ReadableFile, options: DelimitedOptions = {}): Detected {
  assertUsable(options)
  for (let bytes = sampleBytes; ; bytes *= 8) {
    const detected = detectIn(file, readSample(file, bytes), options, bytes < longestSample)
    if (detected) return detected
  }
}

const isText = (byte: number): boolean => byte > 32

/** Undefined where a longer sample is needed, since this one ends within its first record. */
function detectIn(
  file: ReadableFile,
  sample: Sample,
  options: DelimitedOptions,
  mayGrow: boolean,
): Detected | undefined {
  const { head, complete } = sample
  const directive = separatorDirective(head, options)
  const skipped = options.skipLines ?? (directive === undefined ? 0 : 1)
  const begin = behindLines(head, skipped)
  const choice = chooseGrammar(head, begin, complete, givenGrammar(options, directive))
  const { grammar } = choice
  const parsed = parseSample(head, begin, complete, grammar, parsedRecords)
  for (const record of parsed.records) record.line += skipped
  if (mayGrow && !complete && (parsed.records[0]?.next ?? head.length) === head.length) return undefined
  assertRows(parsed, file, options.skipLines !== undefined && head.subarray(0, begin).some(isText))
  const table = findTable(parsed, head, options)
  assertReadable(parsed, table, head, file)
  const footer = footerOf(file, sample, parsed, table, options)
  const columns = sampleColumns(parsed, head, table)
  const guessed = guessDecimal(columns, grammar.delimiter)
  const decimal = decimalOf(options, guessed, table.labels, columns)
  const dialect: Dialect = {
    ...grammar,
    ...placeOfRows(sample, parsed, table),
    end: footer.from,
    labels: table.labels,
    trailing: table.trailing,
    decimal,
    nulls: [...(options.nullValues ?? [])],
    columns: columnOptions(table.labels, options.columns ?? []),
    ...(options.remembered && { dayFirst: dayFirstOf(table.labels, options.remembered) }),
  }
  const found = { choice, table, footer, decimal, sample: head, suggested: suggestNulls(columns), directive }
  const guesses = guessesOf(found, parsed, options)
  const decimalDecided = options.decimal !== undefined || (guessed.decided && guessed.sign === decimal)
  return { dialect, guesses, decimalDecided, notes: notesOf(guesses, footer, table.isMended) }
}

const signs = { POINT: 46, COMMA: 44 } as const

const dayFirstOf = (labels: readonly string[], { dayFirst }: Remembered): (boolean | undefined)[] =>
  labels.map((label) => (Object.hasOwn(dayFirst, label) ? dayFirst[label] : undefined))

/** The sign that was given, then the one that earlier files have decided, then the guess. Throws DECIMAL_SIGN_CHANGED. */
function decimalOf(
  { decimal, remembered }: DelimitedOptions,
  guessed: DecimalGuess,
  labels: readonly string[],
  columns: readonly (readonly string[])[],
): number {
  if (decimal !== undefined) return signs[decimal]
  if (remembered?.decimal === undefined) return guessed.sign
  const known = signs[remembered.decimal]
  const other = known === signs.POINT ? signs.COMMA : signs.POINT
  const changed = labels.findIndex(
    (label, index) => remembered.numbers.includes(label) && areDecimals(columns[index] ?? [], other),
  )
  if (changed < 0) return known
  const [before, now] = known === signs.POINT ? ['point', 'comma'] : ['comma', 'point']
  throw new DelimitedProblem(
    'DECIMAL_SIGN_CHANGED',
    `Column "${labels[changed]}" has a decimal ${now} in this file, but the table was loaded with a decimal ${before}. Nothing was loaded, because numbers could be misread. Write the numbers as before.`,
    { advice: 'Alternatively, set decimal.' },
  )
}

function placeOfRows({ head, from }: Sample, { records }: ParsedSample, { start, headerLines }: Table) {
  const header = records[start]!
  if (headerLines === 0) return { from: from + header.from, line: header.line, headerLine: 0 }
  const last = records[start + headerLines - 1]!
  return {
    from: from + last.next,
    line: last.line + countLineEnds(head, last.from, last.next),
    headerLine: header.line,
  }
}

function footerOf(
  file: ReadableFile,
  sample: Sample,
  { records, grammar, blankLines }: ParsedSample,
  table: Table,
  { footerLines }: DelimitedOptions,
): Footer {
  const body = records.slice(table.start + table.headerLines)
  const rowsFrom = sample.from + (body[0]?.from ?? sample.head.length)
  if (footerLines !== undefined) return lastLines(sample, file.size, footerLines, rowsFrom)
  const fields = table.width + table.trailing
  const fitting = body.filter(({ count }) => count === fields)
  const firstKind = steadyKind(fitting.map(({ kinds }) => kinds[0]!))
  const hasGaps = blankLines.some((line) => line > (body[0]?.line ?? 0) && line < (fitting.at(-1)?.line ?? 0))
  return findFooter(sample, file.size, grammar, { fields, rowsFrom, firstKind, hasGaps })
}

/** Values by column, of rows that fit. */
function sampleColumns({ records, grammar }: ParsedSample, head: Uint8Array, table: Table): string[][] {
  const body = records.slice(table.start + table.headerLines, table.start + valuesSeen)
  const fields = table.width + table.trailing
  const rows = body.filter(({ count }) => count === fields).map((record) => cellTexts(head, record, grammar))
  return table.labels.map((_, index) => rows.map((row) => row[index] ?? ''))
}
