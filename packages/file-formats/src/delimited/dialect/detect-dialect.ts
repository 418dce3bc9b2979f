import { countLineEnds } from '../record-scanner.ts'
import {
  cellTexts,
  type FileSample,
  type ParsedSample,
  parseSample,
  type ReadableFile,
  readSample,
  sampleBytes,
  type SampleRecord,
} from './sample.ts'
import { chooseGrammar } from './choose-grammar.ts'
import type { DelimitedDialect, DetectedDialect, DelimitedGrammar } from './dialect.ts'
import { chooseTable, describeUnread, type TableChoice } from './choose-table.ts'
import { type DetectedFooter, findFooter, lastLines, skipLines, steadyKind } from './footer.ts'
import { describeAmbiguousPoints, describeDetection, detectionNotes } from './detected-options.ts'
import { maxColumns, SourceProblem, toUniqueIdentifiers } from '@sluice/row-stream'
import {
  assertUsableOptions,
  type ColumnOptions,
  type DelimitedOptions,
  delimiterByte,
  optionsProblem,
  type PreviousDialect,
} from './delimited-options.ts'
import { type DetectedTable, findTable } from './find-table.ts'
import { areDecimals, type DecimalGuess, guessDecimal, suggestNulls } from './guess-decimal.ts'
import { isUtf8 } from 'node:buffer'
import { badByte } from '../text-file.ts'

const parsedRecords = { records: 2000, cells: 20_000 }
/** The maximum bytes of the sample, and thus of a record in it. */
const longestSample = 16 * 1024 * 1024
const valuesSeen = 1000

/**
 * Detects the dialect of a UTF-8 file from its first 256 KB and its last 64 KB. Values in `options` take precedence.
 * Throws SourceProblem EMPTY_FILE, LINES_ALL_SKIPPED, HEADER_NOT_READABLE, NO_READABLE_ROW, TOO_MANY_COLUMNS or
 * OPTIONS_NOT_USABLE.
 */
export function detectDialect(file: ReadableFile, options: DelimitedOptions = {}): DetectedDialect {
  assertUsableOptions(options)
  for (let bytes = sampleBytes; ; bytes *= 8) {
    const detected = detectIn(file, readSample(file, bytes), options, bytes < longestSample)
    if (detected) return detected
  }
}

const isVisible = (byte: number): boolean => byte > 32

/**
 * Detects the dialect in a sample. Returns undefined if the sample ends inside its first record, so that a longer one
 * is needed.
 */
function detectIn(
  file: ReadableFile,
  sample: FileSample,
  options: DelimitedOptions,
  mayGrow: boolean,
): DetectedDialect | undefined {
  const { head, complete } = sample
  const directive = separatorDirective(head, options)
  const skipped = options.skipLines ?? (directive === undefined ? 0 : 1)
  const begin = skipLines(head, skipped)
  const choice = chooseGrammar(head, begin, complete, givenGrammar(options, directive))
  const { grammar } = choice
  const wholeSample = parseFrom(head, begin, complete, grammar, skipped)
  if (mayGrow && !complete && (wholeSample.records[0]?.next ?? head.length) === head.length) return undefined
  assertRows(wholeSample, file, options.skipLines !== undefined && head.subarray(0, begin).some(isVisible))
  const choiceOfTable = chooseTable(file, sample, wholeSample, options)
  const { parsed } = choiceOfTable
  const table = findTable(parsed, head, options)
  assertReadable(parsed, table, head, file)
  const footer = footerOf(file, sample, choiceOfTable, table, options)
  const columns = sampleColumns(parsed, head, table)
  const guessed = guessDecimal(columns, grammar.delimiter)
  const optionsOfColumns = columnOptions(table.labels, options.columns ?? [])
  const labels = table.headerLines > 0 ? table.labels : withGivenNames(table.labels, optionsOfColumns)
  const decimal = decimalOf(options, guessed, labels, columns)
  const ambiguous = ambiguousColumns(options, guessed, optionsOfColumns)
  const dialect: DelimitedDialect = {
    ...grammar,
    ...(table.repeatedHeader && { repeatedHeader: table.repeatedHeader.texts }),
    ...placeOfRows(sample, parsed, table),
    end: footer.from,
    labels,
    trailing: table.trailing,
    decimal,
    nulls: [...(options.nullValues ?? [])],
    columns: optionsOfColumns.map((given, index) =>
      ambiguous.includes(index) ? { ...given, dataType: 'TEXT', declared: true } : given,
    ),
    ...(options.remembered && {
      dayFirst: dayFirstOf(labels, options.remembered),
      earlierFormats: earlierFormatsOf(labels, options.remembered),
      keepsEarlierRows: options.remembered.keepsRows === true,
    }),
  }
  const detection = { choice, table, footer, decimal, sample: head, suggested: suggestNulls(columns), directive }
  const guesses = describeDetection(detection, parsed, options)
  const decimalDecided = options.decimal !== undefined || (guessed.decided && guessed.sign === decimal)
  const pointNotes = ambiguous.map((index) => describeAmbiguousPoints(labels[index]!))
  const notes = [...detectionNotes(guesses, footer, table), ...pointNotes]
  const unread = describeUnread(file.name, choiceOfTable, guesses)
  return { dialect, guesses, decimalDecided, notes, ...(unread !== undefined && { unread }) }
}

/**
 * Returns the columns that become TEXT because neither the options nor earlier files say whether their points are
 * decimal points.
 */
function ambiguousColumns(
  { decimal, remembered }: DelimitedOptions,
  { ambiguous }: DecimalGuess,
  columns: readonly (ColumnOptions | undefined)[],
): readonly number[] {
  if (decimal !== undefined || remembered?.decimal !== undefined) return []
  return ambiguous.filter((index) => columns[index]?.dataType === undefined)
}

/** Parses the sample from the byte `begin`. Above it, `skipped` lines were skipped. */
function parseFrom(
  head: Uint8Array,
  begin: number,
  complete: boolean,
  grammar: DelimitedGrammar,
  skipped: number,
): ParsedSample {
  const parsed = parseSample(head, begin, complete, grammar, parsedRecords)
  for (const record of parsed.records) record.line += skipped
  return { ...parsed, blankLines: parsed.blankLines.map((line) => line + skipped) }
}

/**
 * Returns the labels of a file without a header. If the options identify columns by index, their names replace the
 * default labels.
 */
const withGivenNames = (labels: readonly string[], columns: readonly (ColumnOptions | undefined)[]): string[] =>
  labels.map((label, index) => (columns[index]?.index === undefined ? label : (columns[index].name ?? label)))

const decimalSignBytes = { POINT: 46, COMMA: 44 } as const

const dayFirstOf = (labels: readonly string[], previous: PreviousDialect): (boolean | undefined)[] =>
  findPreviousLabels(labels, previous).map((label) =>
    label !== undefined && Object.hasOwn(previous.dayFirst, label) ? previous.dayFirst[label] : undefined,
  )

const earlierFormatsOf = (
  labels: readonly string[],
  { sourceFormats = {}, ...previous }: PreviousDialect,
): (string | undefined)[] =>
  findPreviousLabels(labels, previous).map((label) =>
    label !== undefined && Object.hasOwn(sourceFormats, label) ? sourceFormats[label] : undefined,
  )

/**
 * Returns, for each label of a file, the label that the same column of the table had in the last file; undefined for a
 * new column. Labels such as `Rate` and `RATE` belong to the same column, because its name in the table is the same.
 */
export function findPreviousLabels(labels: readonly string[], previous: PreviousDialect): (string | undefined)[] {
  const names = toUniqueIdentifiers(previous.labels)
  const labelByName = new Map(names.map((name, index) => [name, previous.labels[index]]))
  return toUniqueIdentifiers(labels).map((name, index) =>
    previous.labels.includes(labels[index]!) ? labels[index] : labelByName.get(name),
  )
}

/**
 * Returns the decimal sign: from the options, else from earlier files, else the detected one. Throws
 * DECIMAL_SIGN_CHANGED if a value contradicts earlier files.
 */
function decimalOf(
  { decimal, remembered }: DelimitedOptions,
  guessed: DecimalGuess,
  labels: readonly string[],
  columns: readonly (readonly string[])[],
): number {
  if (decimal !== undefined) return decimalSignBytes[decimal]
  if (remembered?.decimal === undefined) return guessed.sign
  const decimalByte = decimalSignBytes[remembered.decimal]
  const other = decimalByte === decimalSignBytes.POINT ? decimalSignBytes.COMMA : decimalSignBytes.POINT
  const previousLabels = findPreviousLabels(labels, remembered)
  const changed = previousLabels.findIndex(
    (label, index) =>
      label !== undefined && remembered.numbers.includes(label) && areDecimals(columns[index] ?? [], other),
  )
  if (changed < 0) return decimalByte
  const [before, now] = decimalByte === decimalSignBytes.POINT ? ['point', 'comma'] : ['comma', 'point']
  throw new SourceProblem(
    'DECIMAL_SIGN_CHANGED',
    `Column "${labels[changed]}" has a decimal ${now} in this file, but the table was loaded with a decimal ${before}. Nothing was loaded, because numbers could be misread. Write the numbers as before.`,
    { advice: { pipeline: 'Alternatively, set csvOptions.decimal of the pipeline.' } },
  )
}

function placeOfRows({ head, from }: FileSample, { records }: ParsedSample, { start, headerLines }: DetectedTable) {
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
  sample: FileSample,
  { parsed, end, linesAfter }: TableChoice,
  table: DetectedTable,
  { footerLines }: DelimitedOptions,
): DetectedFooter {
  const { records, grammar, blankLines } = parsed
  const body = records.slice(table.start + table.headerLines)
  const rowsFrom = sample.from + (body[0]?.from ?? sample.head.length)
  if (footerLines !== undefined) return lastLines(file, sample, footerLines, rowsFrom)
  const fields = table.width + table.trailing
  const fitting = body.filter(({ count }) => count === fields)
  const firstKind = steadyKind(fitting.map(({ kinds }) => kinds[0]!))
  const hasGaps = blankLines.some((line) => line > (body[0]?.line ?? 0) && line < (fitting.at(-1)?.line ?? 0))
  const shape = { fields, rowsFrom, firstKind, hasGaps }
  if (end === undefined) return findFooter(sample, file.size, grammar, shape)
  const part = { ...sample, tail: sample.head.subarray(0, end - sample.from), tailFrom: sample.from }
  const footer = findFooter(part, end, grammar, shape)
  return { ...footer, lines: footer.lines + linesAfter }
}

/** Returns sample values of each column, from rows with the right number of fields. */
function sampleColumns({ records, grammar }: ParsedSample, head: Uint8Array, table: DetectedTable): string[][] {
  const body = records.slice(table.start + table.headerLines, table.start + valuesSeen)
  const fields = table.width + table.trailing
  const rows = body.filter(({ count }) => count === fields).map((record) => cellTexts(head, record, grammar))
  return table.labels.map((_, index) => rows.map((row) => row[index] ?? ''))
}

const quoteBytes = { DOUBLE: 34, SINGLE: 39, NONE: -1 } as const

/** Returns the parts of the grammar that are set by the options or by the file's `sep=` line. */
function givenGrammar(options: DelimitedOptions, directive: number | undefined): Partial<DelimitedGrammar> {
  const delimiter = options.delimiter === undefined ? directive : delimiterByte(options.delimiter)
  return {
    ...(delimiter !== undefined && { delimiter }),
    ...(options.quote && { quote: quoteBytes[options.quote] }),
    ...(options.escape && { escape: options.escape === 'BACKSLASH' ? 92 : -1 }),
    ...(options.comment !== undefined && { comment: options.comment.charCodeAt(0) }),
    ...(options.trimSpaces !== undefined && { padded: options.trimSpaces }),
    ...(options.strayQuotes && { readsStrayQuotes: options.strayQuotes === 'TEXT' }),
  }
}

/** Returns the delimiter from a first line such as `sep=;`, which spreadsheet programs understand. */
function separatorDirective(head: Uint8Array, { skipLines }: DelimitedOptions): number | undefined {
  if (skipLines !== undefined) return undefined
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1')
  return /^"?sep=([^\w"'\\\r\n])"?\s*[\r\n]/i.exec(start)?.[1]?.charCodeAt(0)
}

/**
 * Returns the options of each column, in the order of the labels. Throws SourceProblem OPTIONS_NOT_USABLE for an
 * unknown column.
 */
function columnOptions(labels: readonly string[], columns: readonly ColumnOptions[]): (ColumnOptions | undefined)[] {
  const placed: (ColumnOptions | undefined)[] = labels.map(() => undefined)
  for (const column of columns) {
    const index = columnIndex(column, labels)
    if (placed[index]) throw optionsProblem(`Two columns of the options refer to ${formatColumnOptions(column)}`)
    placed[index] = column
  }
  return placed
}

/**
 * Returns the index of the column that the options identify by index or label. Throws if the file has no such column,
 * or several.
 */
function columnIndex(column: ColumnOptions, labels: readonly string[]): number {
  const { index, label } = column
  if (index !== undefined) {
    if (index >= labels.length)
      throw optionsProblem(`The options name ${formatColumnOptions(column)}, but the file has only ${labels.length}`)
    if (label === undefined || labels[index] === label) return index
    throw optionsProblem(
      `The options say that ${formatColumnOptions({ index })} is called "${label}"; the file calls it "${labels[index]}"`,
    )
  }
  const labelIndex = labels.indexOf(label!)
  if (labelIndex < 0)
    throw optionsProblem(`The options name ${formatColumnOptions(column)}, which the file does not have`)
  if (labels.indexOf(label!, labelIndex + 1) < 0) return labelIndex
  throw optionsProblem(`The file has several columns called "${label}"; say which one by its index`)
}

const formatColumnOptions = ({ index, label }: ColumnOptions) =>
  index === undefined ? `the column "${label}"` : `column ${index + 1}`

const longestLabel = 1000

/**
 * Throws SourceProblem if the file has no rows. `skipsText` is true if the option skipLines leaves out lines with text.
 */
function assertRows({ records }: ParsedSample, file: ReadableFile, skipsText: boolean): void {
  if (records.length > 0) return
  if (skipsText)
    throw new SourceProblem(
      'LINES_ALL_SKIPPED',
      `${file.name} has no row after the lines that the option skipLines leaves out. Lower skipLines.`,
    )
  throw new SourceProblem('EMPTY_FILE', `${file.name} is empty; upload a file with at least a header row.`)
}

/**
 * Throws SourceProblem if there are too many columns, or if the header is unreadable. In a file without a header,
 * throws if every row of the sample is unreadable.
 */
function assertReadable({ records }: ParsedSample, table: DetectedTable, sample: Uint8Array, file: ReadableFile): void {
  const { start, headerLines, labels, width } = table
  const { line } = records[start]!
  if (headerLines === 0 && records.slice(start).every(({ count }) => count === 0)) {
    const text = `${file.name} has no row that can be read; check its encoding and its quotes.`
    throw new SourceProblem('NO_READABLE_ROW', text)
  }
  const refuse = (reason: string, location = line) => {
    const text = `The header of ${file.name} in line ${location} cannot be read: ${reason}. If the file has no header row, set headerRow to false.`
    return new SourceProblem('HEADER_NOT_READABLE', text)
  }
  for (const record of records.slice(start, start + headerLines)) {
    const reason = whyUnreadable(record, sample)
    if (reason) throw refuse(reason, record.line)
  }
  if (width > maxColumns) {
    const text = `${file.name} has ${width} columns in line ${line}; a table holds at most ${maxColumns}. Remove columns, or check the delimiter.`
    throw new SourceProblem('TOO_MANY_COLUMNS', text)
  }
  const long = labels.findIndex((label) => label.length > longestLabel)
  if (long < 0) return
  throw refuse(`label ${long + 1} is longer than ${longestLabel} characters, so the first row is probably not a header`)
}

function whyUnreadable({ from, next, fault }: SampleRecord, sample: Uint8Array): string | undefined {
  const bytes = sample.subarray(from, next)
  if (bytes.includes(0)) return 'it holds NUL bytes; if the file is UTF-16, save it as UTF-8'
  if (fault === 'UNCLOSED_QUOTE') return 'a quote in it is opened and never closed'
  if (fault) return 'it has text after a closing quote; a quote inside a quoted field has to be doubled'
  if (isUtf8(bytes)) return undefined
  return `it is not valid UTF-8 (${badByte(bytes, 0, bytes.length)}); save the file as UTF-8, in Excel as "CSV UTF-8", or set its encoding with the option "encoding"`
}
