import { countLineEnds } from '../record-scanner.ts'
import {
  readCellTexts,
  type FileSample,
  type ParsedSample,
  parseSample,
  type ReadableFile,
  readSample,
  sampleBytes,
  type SampleRecord,
} from './file-sample.ts'
import { chooseGrammar } from './choose-grammar.ts'
import type { DelimitedDialect, DetectedDialect, DelimitedGrammar } from './dialect.ts'
import { chooseTable, describeUnread, type TableChoice } from './choose-table.ts'
import { type DetectedFooter, findFooter, lastLines, skipLines, commonKind } from './footer.ts'
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
import { areDecimals, type DecimalGuess, guessDecimal, suggestNulls } from './guess-decimal-sign.ts'
import { isUtf8 } from 'node:buffer'
import { describeInvalidByte } from '../text-file.ts'

/** The maximum number of records and cells of the sample that are parsed. */
const parsedRecords = { records: 2000, cells: 20_000 }
/** The maximum bytes of the sample, and thus of a record in it. */
const maxSampleBytes = 16 * 1024 * 1024
/** The maximum number of rows from which the decimal sign and the suggested null values are determined. */
const maxValueRows = 1000

/**
 * Detects the dialect of a UTF-8 file from its first 256 KB and its last 64 KB. Values in `options` take precedence. If
 * the first record is longer than the sample, tries again with samples of up to 16 MB. Throws SourceProblem EMPTY_FILE,
 * LINES_ALL_SKIPPED, HEADER_NOT_READABLE, NO_READABLE_ROW, TOO_MANY_COLUMNS or OPTIONS_NOT_USABLE.
 */
export function detectDialect(file: ReadableFile, options: DelimitedOptions = {}): DetectedDialect {
  assertUsableOptions(options)
  for (let bytes = sampleBytes; ; bytes *= 8) {
    const mayGrow = bytes < maxSampleBytes
    const detected = detectInSample(file, readSample(file, bytes), options, mayGrow)
    if (detected) return detected
  }
}

const isVisible = (byte: number): boolean => byte > 32

/**
 * Detects the dialect in a sample. Returns undefined if `mayGrow` is true and the sample ends inside its first record,
 * so that a longer sample is needed.
 */
function detectInSample(
  file: ReadableFile,
  sample: FileSample,
  options: DelimitedOptions,
  mayGrow: boolean,
): DetectedDialect | undefined {
  const { head, complete } = sample
  const directive = separatorDirective(head, options)
  const skippedLines = options.skipLines ?? (directive === undefined ? 0 : 1)
  const begin = skipLines(head, skippedLines)
  const choice = chooseGrammar(head, begin, complete, grammarFromOptions(options, directive))
  const { grammar } = choice
  const wholeSample = parseBelowSkippedLines(head, begin, complete, grammar, skippedLines)
  const endOfFirstRecord = wholeSample.records[0]?.next ?? head.length
  const isFirstRecordIncomplete = !complete && endOfFirstRecord === head.length
  if (mayGrow && isFirstRecordIncomplete) return undefined
  const skipsText = options.skipLines !== undefined && head.subarray(0, begin).some(isVisible)
  assertHasRows(wholeSample, file, skipsText)
  const tableChoice = chooseTable(file, sample, wholeSample, options)
  const { parsed } = tableChoice
  const table = findTable(parsed, head, options)
  assertReadable(parsed, table, head, file)
  const footer = detectFooter(file, sample, tableChoice, table, options)
  const sampleValues = readSampleValues(parsed, head, table)
  const guessed = guessDecimal(sampleValues, grammar.delimiter)
  const optionsByColumn = columnOptions(table.labels, options.columns ?? [])
  const labels = table.headerLines > 0 ? table.labels : withNamesFromOptions(table.labels, optionsByColumn)
  const decimal = chooseDecimalSign(options, guessed, labels, sampleValues)
  const ambiguous = ambiguousColumns(options, guessed, optionsByColumn)
  const dialect: DelimitedDialect = {
    ...grammar,
    ...(table.repeatedHeader && { repeatedHeader: table.repeatedHeader.texts }),
    ...locateRows(sample, parsed, table),
    end: footer.from,
    labels,
    trailing: table.trailing,
    decimal,
    nulls: [...(options.nullValues ?? [])],
    columns: optionsByColumn.map((column, index) =>
      ambiguous.includes(index) ? { ...column, dataType: 'TEXT', declared: true } : column,
    ),
    ...(options.previousDialect && {
      dayFirst: dayFirstOf(labels, options.previousDialect),
      earlierFormats: earlierFormatsOf(labels, options.previousDialect),
      keepsEarlierRows: options.previousDialect.keepsRows === true,
    }),
  }
  const suggested = suggestNulls(sampleValues)
  const detection = { choice, table, footer, decimal, sample: head, suggested, directive }
  const guesses = describeDetection(detection, parsed, options)
  const decimalDecided = options.decimal !== undefined || (guessed.decided && guessed.sign === decimal)
  const pointNotes = ambiguous.map((index) => describeAmbiguousPoints(labels[index]!))
  const notes = [...detectionNotes(guesses, footer, table), ...pointNotes]
  const unread = describeUnread(file.name, tableChoice, guesses)
  return { dialect, guesses, decimalDecided, notes, ...(unread !== undefined && { unread }) }
}

/**
 * Returns the indexes of the columns that become TEXT because neither the options nor earlier files say whether their
 * points are decimal points.
 */
function ambiguousColumns(
  { decimal, previousDialect }: DelimitedOptions,
  { ambiguous }: DecimalGuess,
  columns: readonly (ColumnOptions | undefined)[],
): readonly number[] {
  if (decimal !== undefined || previousDialect?.decimal !== undefined) return []
  return ambiguous.filter((index) => columns[index]?.dataType === undefined)
}

/**
 * Parses the sample from byte `begin` on. The `skippedLines` lines above it count in the line numbers of the result.
 */
function parseBelowSkippedLines(
  head: Uint8Array,
  begin: number,
  complete: boolean,
  grammar: DelimitedGrammar,
  skippedLines: number,
): ParsedSample {
  const parsed = parseSample(head, begin, complete, grammar, parsedRecords)
  for (const record of parsed.records) record.line += skippedLines
  return { ...parsed, blankLines: parsed.blankLines.map((line) => line + skippedLines) }
}

/**
 * Returns the labels of a file without a header. The name of a column in the options replaces its default label if the
 * options identify the column by index.
 */
const withNamesFromOptions = (labels: readonly string[], columns: readonly (ColumnOptions | undefined)[]): string[] =>
  labels.map((label, index) => {
    const options = columns[index]
    return options?.index === undefined ? label : (options.name ?? label)
  })

const decimalSignBytes = { POINT: 46, COMMA: 44 } as const

/**
 * Returns for each column whether the day comes before the month, as in earlier files. Undefined if that is unknown.
 */
const dayFirstOf = (labels: readonly string[], previous: PreviousDialect): (boolean | undefined)[] =>
  findPreviousLabels(labels, previous).map((label) =>
    label !== undefined && Object.hasOwn(previous.dayFirst, label) ? previous.dayFirst[label] : undefined,
  )

/** Returns, for each label of a file, the source format that the column had in earlier loads. */
export const earlierFormatsOf = (
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
 * Returns the byte of the decimal sign: from the options, else from earlier files, else the detected one. Throws
 * SourceProblem DECIMAL_SIGN_CHANGED if the values of a column contradict earlier files.
 */
function chooseDecimalSign(
  { decimal, previousDialect }: DelimitedOptions,
  guessed: DecimalGuess,
  labels: readonly string[],
  columns: readonly (readonly string[])[],
): number {
  if (decimal !== undefined) return decimalSignBytes[decimal]
  if (previousDialect?.decimal === undefined) return guessed.sign
  const decimalByte = decimalSignBytes[previousDialect.decimal]
  const isPoint = previousDialect.decimal === 'POINT'
  const otherDecimalByte = isPoint ? decimalSignBytes.COMMA : decimalSignBytes.POINT
  const previousLabels = findPreviousLabels(labels, previousDialect)
  const changedColumn = previousLabels.findIndex((label, index) => {
    const hadNumbers = label !== undefined && previousDialect.numbers.includes(label)
    return hadNumbers && areDecimals(columns[index] ?? [], otherDecimalByte)
  })
  if (changedColumn < 0) return decimalByte
  const [previousSign, currentSign] = isPoint ? ['point', 'comma'] : ['comma', 'point']
  throw new SourceProblem(
    'DECIMAL_SIGN_CHANGED',
    `Column "${labels[changedColumn]}" has a decimal ${currentSign} in this file, but the table was loaded with a decimal ${previousSign}. Nothing was loaded, because numbers could be misread. Write the numbers as before.`,
    { advice: { pipeline: 'Alternatively, set csvOptions.decimal of the pipeline.' } },
  )
}

/** Returns the position and line number of the first row, and the line number of the header, or 0 without a header. */
function locateRows({ head, from }: FileSample, { records }: ParsedSample, { start, headerLines }: DetectedTable) {
  const firstRecord = records[start]!
  if (headerLines === 0) return { from: from + firstRecord.from, line: firstRecord.line, headerLine: 0 }
  const lastHeaderRecord = records[start + headerLines - 1]!
  return {
    from: from + lastHeaderRecord.next,
    line: lastHeaderRecord.line + countLineEnds(head, lastHeaderRecord.from, lastHeaderRecord.next),
    headerLine: firstRecord.line,
  }
}

/**
 * Returns the footer of a table: as many lines as the option `footerLines` says, or else the detected lines. If another
 * table follows in the file, all lines from this table's footer to the end of the file count as footer lines.
 */
function detectFooter(
  file: ReadableFile,
  sample: FileSample,
  { parsed, end, linesAfter }: TableChoice,
  table: DetectedTable,
  { footerLines }: DelimitedOptions,
): DetectedFooter {
  const { grammar } = parsed
  const body = parsed.records.slice(table.start + table.headerLines)
  const rowsFrom = sample.from + (body[0]?.from ?? sample.head.length)
  if (footerLines !== undefined) return lastLines(file, sample, footerLines, rowsFrom)
  const shape = { ...describeRows(body, parsed.blankLines, table), rowsFrom }
  const isLastTable = end === undefined
  if (isLastTable) return findFooter(sample, file.size, grammar, shape)
  const sampleUpToEnd = { ...sample, tail: sample.head.subarray(0, end - sample.from), tailFrom: sample.from }
  const footer = findFooter(sampleUpToEnd, end, grammar, shape)
  return { ...footer, lines: footer.lines + linesAfter }
}

/** Returns the properties of the rows in a table's body that distinguish them from the lines of a footer. */
function describeRows(body: readonly SampleRecord[], blankLines: readonly number[], table: DetectedTable) {
  const fields = table.width + table.trailing
  const fittingRows = body.filter(({ count }) => count === fields)
  const firstLine = body[0]?.line ?? 0
  const lastFittingLine = fittingRows.at(-1)?.line ?? 0
  return {
    fields,
    firstKind: commonKind(fittingRows.map(({ kinds }) => kinds[0]!)),
    hasGaps: blankLines.some((line) => line > firstLine && line < lastFittingLine),
  }
}

/** Returns sample values of each column, from rows with the right number of fields. */
function readSampleValues({ records, grammar }: ParsedSample, head: Uint8Array, table: DetectedTable): string[][] {
  const body = records.slice(table.start + table.headerLines, table.start + maxValueRows)
  const fields = table.width + table.trailing
  const rows = body.filter(({ count }) => count === fields).map((record) => readCellTexts(head, record, grammar))
  return table.labels.map((_, index) => rows.map((row) => row[index] ?? ''))
}

const quoteBytes = { DOUBLE: 34, SINGLE: 39, NONE: -1 } as const
const escapeBytes = { DOUBLED: -1, BACKSLASH: 92 } as const

/** Returns the properties of the grammar that are set by the options, or by `directive`, the file's `sep=` line. */
function grammarFromOptions(options: DelimitedOptions, directive: number | undefined): Partial<DelimitedGrammar> {
  const delimiter = options.delimiter === undefined ? directive : delimiterByte(options.delimiter)
  return {
    ...(delimiter !== undefined && { delimiter }),
    ...(options.quote && { quote: quoteBytes[options.quote] }),
    ...(options.escape && { escape: escapeBytes[options.escape] }),
    ...(options.comment !== undefined && { comment: options.comment.charCodeAt(0) }),
    ...(options.trimSpaces !== undefined && { padded: options.trimSpaces }),
    ...(options.strayQuotes && { readsStrayQuotes: options.strayQuotes === 'TEXT' }),
  }
}

/**
 * Returns the byte of the delimiter from a first line such as `sep=;`, which spreadsheet programs understand. Returns
 * undefined without such a line, and if the option `skipLines` is set.
 */
function separatorDirective(head: Uint8Array, { skipLines }: DelimitedOptions): number | undefined {
  if (skipLines !== undefined) return undefined
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1')
  return /^"?sep=([^\w"'\\\r\n])"?\s*[\r\n]/i.exec(start)?.[1]?.charCodeAt(0)
}

/**
 * Returns the options of each column, in the order of the labels. Throws SourceProblem OPTIONS_NOT_USABLE if the file
 * does not have a column of the options, or if two options refer to the same column.
 */
function columnOptions(labels: readonly string[], columns: readonly ColumnOptions[]): (ColumnOptions | undefined)[] {
  const optionsByIndex: (ColumnOptions | undefined)[] = labels.map(() => undefined)
  for (const column of columns) {
    const index = findColumnIndex(column, labels)
    if (optionsByIndex[index])
      throw optionsProblem(`Two columns of the options refer to ${formatColumnOptions(column)}`)
    optionsByIndex[index] = column
  }
  return optionsByIndex
}

/**
 * Returns the index of the column that the options identify by index or label. Throws SourceProblem OPTIONS_NOT_USABLE
 * if the file has no such column or several, or if the column at the index has another label.
 */
function findColumnIndex(column: ColumnOptions, labels: readonly string[]): number {
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

const maxLabelLength = 1000

/**
 * Throws SourceProblem if the file has no rows: LINES_ALL_SKIPPED if the option skipLines leaves out lines with text
 * (`skipsText`), otherwise EMPTY_FILE.
 */
function assertHasRows({ records }: ParsedSample, file: ReadableFile, skipsText: boolean): void {
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
  const headerProblem = (reason: string, problemLine: number) => {
    const text = `The header of ${file.name} in line ${problemLine} cannot be read: ${reason}. If the file has no header row, set headerRow to false.`
    return new SourceProblem('HEADER_NOT_READABLE', text)
  }
  for (const record of records.slice(start, start + headerLines)) {
    const reason = whyUnreadable(record, sample)
    if (reason) throw headerProblem(reason, record.line)
  }
  if (width > maxColumns) {
    const text = `${file.name} has ${width} columns in line ${line}; a table holds at most ${maxColumns}. Remove columns, or check the delimiter.`
    throw new SourceProblem('TOO_MANY_COLUMNS', text)
  }
  const longLabel = labels.findIndex((label) => label.length > maxLabelLength)
  if (longLabel < 0) return
  const reason = `label ${longLabel + 1} is longer than ${maxLabelLength} characters, so the first row is probably not a header`
  throw headerProblem(reason, line)
}

/** Returns the reason why a record of the header cannot be read, or undefined if it can. */
function whyUnreadable({ from, next, fault }: SampleRecord, sample: Uint8Array): string | undefined {
  const bytes = sample.subarray(from, next)
  if (bytes.includes(0)) return 'it holds NUL bytes; if the file is UTF-16, save it as UTF-8'
  if (fault === 'UNCLOSED_QUOTE') return 'a quote in it is opened and never closed'
  if (fault) return 'it has text after a closing quote; a quote inside a quoted field has to be doubled'
  if (isUtf8(bytes)) return undefined
  return `it is not valid UTF-8 (${describeInvalidByte(bytes, 0, bytes.length)}); save the file as UTF-8, in Excel as "CSV UTF-8", or set its encoding with the option "encoding"`
}
