import { SourceProblem, temporalTypes } from '@sluice/row-stream'
import { configureScanner, copyColumnStates, givenTypes, restoreColumnStates, seenType } from '../column-state.ts'
import { type ColumnType, isDayFirst } from '../dialect/column-type.ts'
import type { InferredColumn, KnownColumns } from '../delimited-reader.ts'
import { NUMBER_CELL } from '../dialect/cell-kind.ts'
import type { DelimitedOptions } from '../dialect/delimited-options.ts'
import type { DelimitedDialect, DetectedDialect } from '../dialect/dialect.ts'
import { findFooter } from '../dialect/footer.ts'
import { readAt, readSample } from '../dialect/sample.ts'
import type { DelimitedLimits } from '../limits.ts'
import { observeText } from '../observe-column-types.ts'
import { detectText } from '../open-delimited-rows.ts'
import { SegmentText, type TextPart, type TextSegment } from './text-part.ts'
import type { TextSource } from '../text-file.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** A group of texts of a file that can be read as one, because they have the dialect of the first of them. */
export interface SimilarTexts {
  /** The dialect of the first text. */
  detected: DetectedDialect
  /** The byte ranges of the texts' rows in the file, in order. */
  parts: TextPart[]
  /** Columns with types that fit all of these texts. */
  known: KnownColumns
  /** Indexes of the texts among all texts. */
  indexes: number[]
  /** Sentences about texts that were examined by themselves. */
  notes: string[]
  /** Sentences about tables in these texts that are not read. */
  unread: string[]
}

const numericTypes = ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'DOUBLE']

interface Grouping {
  options: DelimitedOptions
  limits: DelimitedLimits
  wasm: WasmScanner
}

/**
 * Groups the texts, in the order of the first text of each group. Detects the dialect of this text and infers types
 * from it and all texts that begin with the same lines up to their first row. Detection takes longer than reading a
 * small text, so another text is only examined by itself if it may have a footer, has rows that cannot be read, or
 * makes a column TEXT or DECIMAL. If it then has another dialect, or values of the same kind in another form, it is not
 * similar. Throws what `detectText` throws for the first text of a group.
 */
export function findSimilarTexts(
  file: TextSource,
  segments: readonly TextSegment[],
  grouping: Grouping,
  onText: () => void = () => {},
): SimilarTexts[] {
  const groups = new SimilarGroups(grouping)
  for (const [index, segment] of segments.entries()) {
    groups.add(new SegmentText(file, segment), segment, index)
    onText()
  }
  return groups.results()
}

/** All groups so far. The scanner holds the observations of one of them at a time. */
class SimilarGroups {
  readonly #grouping: Grouping
  readonly #groups: SimilarGroup[] = []
  /**
   * The groups by the bytes before their first row, as Latin-1, so that each text is compared only with groups that
   * begin like it.
   */
  readonly #byStart = new Map<string, SimilarGroup[]>()
  readonly #startLengths = new Set<number>()
  #active: SimilarGroup | undefined

  constructor(grouping: Grouping) {
    this.#grouping = grouping
  }

  /** Adds a text to the first group to which it is similar, or else to a new one. */
  add(text: SegmentText, segment: TextSegment, index: number): void {
    for (const group of this.#listGroupsThatBeginLike(text)) {
      this.#activate(group)
      if (group.add(text, segment, index)) return
    }
    this.#activate(undefined)
    const group = new SimilarGroup(this.#grouping, text)
    this.#active = group
    this.#groups.push(group)
    this.#startLengths.add(group.start.length)
    const groupsWithStart = this.#byStart.get(group.start)
    if (groupsWithStart) groupsWithStart.push(group)
    else this.#byStart.set(group.start, [group])
    group.add(text, segment, index)
  }

  results(): SimilarTexts[] {
    return this.#groups.map((group) => {
      this.#activate(group)
      return group.result()
    })
  }

  /** Returns the groups in their order. */
  #listGroupsThatBeginLike(text: SegmentText): SimilarGroup[] {
    const start = readLatin1(text, text.skip, Math.max(0, ...this.#startLengths))
    const groups = [...this.#startLengths].flatMap((length) => this.#byStart.get(start.slice(0, length)) ?? [])
    return groups.length > 1 ? this.#groups.filter((group) => groups.includes(group)) : groups
  }

  #activate(group: SimilarGroup | undefined): void {
    if (group === this.#active) return
    this.#active?.suspend()
    group?.resume()
    this.#active = group
  }
}

/**
 * The texts that are similar so far. Its methods require that the scanner holds the observations of these texts
 * (`resume`).
 */
class SimilarGroup {
  /** The bytes before the first row, as Latin-1. */
  readonly start: string
  readonly #indexes: number[] = []
  readonly #parts: TextPart[] = []
  /** Sentences about footers of texts after the first one. */
  readonly #notes: string[] = []
  /** Sentences about the tables that are not read. */
  readonly #unread: string[] = []
  readonly #wasm: WasmScanner
  readonly #limits: DelimitedLimits
  readonly #options: DelimitedOptions
  readonly #detected: DetectedDialect
  readonly #dialect: DelimitedDialect
  readonly #first: SegmentText
  /** The observations, while the scanner holds those of another group. */
  #states: Buffer[] = []
  #types: ColumnType[] = []
  #hasSeenAllRows = true

  /** Detects the dialect of the first text, and sets the scanner for it. */
  constructor({ wasm, limits, options }: Grouping, first: SegmentText) {
    this.#wasm = wasm
    this.#limits = limits
    this.#options = options
    this.#detected = detectText(first, options)
    const { dialect, unread } = this.#detected
    this.#dialect = dialect
    this.#first = first
    if (unread !== undefined) this.#unread.push(unread)
    this.start = readLatin1(first, first.skip, dialect.from - first.skip)
    configureScanner(wasm, dialect, limits.chunkBytes)
  }

  suspend(): void {
    this.#states = copyColumnStates(this.#wasm, this.#dialect.labels.length)
  }

  resume(): void {
    configureScanner(this.#wasm, this.#dialect, this.#limits.chunkBytes)
    restoreColumnStates(this.#wasm, this.#states)
  }

  /** Adds a text that begins with the same bytes. Returns false if it is not similar. */
  add(text: SegmentText, segment: TextSegment, index: number): boolean {
    const rows = this.#observe(text)
    if (!rows) return false
    const { from, end, line } = rows
    this.#parts.push({ from: segment.from + from, end: segment.from + end, line })
    this.#indexes.push(index)
    return true
  }

  result(): SimilarTexts {
    return {
      detected: this.#detected,
      parts: this.#parts,
      known: this.#known(),
      indexes: this.#indexes,
      notes: this.#notes,
      unread: this.#unread,
    }
  }

  /** Observes a text and returns its rows. If it is not similar, discards the observations and returns undefined. */
  #observe(text: SegmentText): DelimitedDialect | undefined {
    const isFirst = text === this.#first
    let dialect = isFirst ? this.#dialect : this.#shiftDialect(text)
    if (!dialect) return undefined
    let isExamined = isFirst
    let examinedDialect: DetectedDialect | undefined
    const examine = () => {
      isExamined = true
      examinedDialect = this.#examine(text)
      dialect = examinedDialect?.dialect
      return dialect
    }
    if (!isFirst && this.#mayDiffer(text, dialect) && !examine()) return undefined
    const statesBefore = copyColumnStates(this.#wasm, this.#dialect.labels.length)
    const { isWhole, faultyRows } = observeText(this.#wasm, text, dialect, text.size, this.#limits)
    const types = this.#seenTypes()
    const newTextColumns = isFirst
      ? []
      : types.flatMap((type, column) => (this.#becameText(column, type) ? [column] : []))
    // Points in some texts may separate thousands. Only an examination of all columns reveals that.
    const hasNewDecimals = !isFirst && types.some((type, column) => this.#becameDecimal(column, type))
    if (faultyRows > 0 || newTextColumns.length > 0 || hasNewDecimals) {
      if ((!isExamined && !examine()) || this.#hasOtherForm(text, dialect, newTextColumns)) {
        restoreColumnStates(this.#wasm, statesBefore)
        return undefined
      }
    }
    this.#types = types
    this.#hasSeenAllRows &&= isWhole
    if (examinedDialect) this.#addSentences(text, examinedDialect)
    return dialect
  }

  #addSentences({ name }: SegmentText, { guesses, notes, unread }: DetectedDialect): void {
    if (guesses.footerLines.value > 0) this.#notes.push(...notes.map((note) => `${name}: ${note}`))
    if (unread !== undefined) this.#unread.push(unread)
  }

  #known(): KnownColumns {
    const { labels } = this.#dialect
    const declaredTypes = givenTypes(this.#dialect)
    const columns = labels.map(
      (label, index): InferredColumn => ({ label, ...(declaredTypes[index] ?? this.#types[index]!) }),
    )
    return { columns, ...(this.#hasSeenAllRows && { states: copyColumnStates(this.#wasm, labels.length) }) }
  }

  /**
   * Returns the dialect for a text that begins with the same bytes. Returns undefined if they do not end with a line.
   */
  #shiftDialect(text: SegmentText): DelimitedDialect | undefined {
    const from = text.skip + this.start.length
    // The first text can be a header without a line end, or with half of one.
    if (this.start.length > 0 && !isLineStart(text, from)) return undefined
    return { ...this.#dialect, from, end: text.size }
  }

  /** True if a text that starts with the same lines may have a footer, or has a row in place of the header. */
  #mayDiffer(text: SegmentText, { labels, trailing, headerLine, from }: DelimitedDialect): boolean {
    const { headerRow, footerLines } = this.#options
    if (footerLines !== undefined || (headerLine === 0 && headerRow !== false)) return true
    // These row properties recognise the most lines as footers, so no possible footer is missed.
    const shape = { fields: labels.length + trailing, rowsFrom: from, firstKind: NUMBER_CELL, hasGaps: false }
    const footer = findFooter(readSample(text, 0), text.size, this.#dialect, shape)
    return footer.lines > 0 || footer.doubt !== undefined
  }

  /** Detects the dialect of a text. Returns undefined if it differs from the first text's. */
  #examine(text: SegmentText): DetectedDialect | undefined {
    try {
      const detected = detectText(text, this.#options)
      return isSameDialect(detected.dialect, this.#dialect) ? detected : undefined
    } catch (error) {
      // The text is then read separately, which reports the problem.
      if (error instanceof SourceProblem) return undefined
      throw error
    }
  }

  #seenTypes(): ColumnType[] {
    return this.#dialect.labels.map((_, column) => seenType(this.#wasm, column))
  }

  #becameText(column: number, type: ColumnType): boolean {
    return isDecidedText(type) && !isDecidedText(this.#types[column]!)
  }

  #becameDecimal(column: number, { dataType }: ColumnType): boolean {
    return dataType === 'DECIMAL' && this.#types[column]!.dataType !== 'DECIMAL'
  }

  /**
   * True if a column is TEXT only because its numbers or times have another form in this text. If the form contradicts
   * the order of day and month in the other texts, their ambiguous dates are unreliable, so the column must stay TEXT.
   */
  #hasOtherForm(text: SegmentText, dialect: DelimitedDialect | undefined, newTexts: readonly number[]): boolean {
    if (!dialect || newTexts.length === 0) return false
    const groupStates = copyColumnStates(this.#wasm, dialect.labels.length)
    configureScanner(this.#wasm, dialect, this.#limits.chunkBytes)
    observeText(this.#wasm, text, dialect, text.size, this.#limits)
    const types = this.#seenTypes()
    restoreColumnStates(this.#wasm, groupStates)
    return newTexts.some((column) => {
      const [groupType, textType] = [this.#types[column]!, types[column]!]
      const hasOtherDateOrder = isDayFirst(groupType) !== undefined && isDayFirst(textType) === !isDayFirst(groupType)
      const isOneKind = [temporalTypes, numericTypes].some((kind) =>
        [groupType, textType].every(({ dataType }) => kind.includes(dataType)),
      )
      return isOneKind && !hasOtherDateOrder
    })
  }
}

const isDecidedText = ({ dataType, evidence }: ColumnType): boolean => dataType === 'TEXT' && evidence === undefined

function isSameDialect(firstDialect: DelimitedDialect, secondDialect: DelimitedDialect): boolean {
  const keys = ['delimiter', 'quote', 'escape', 'padded', 'comment', 'decimal', 'trailing', 'headerLine'] as const
  return (
    keys.every((key) => firstDialect[key] === secondDialect[key]) &&
    firstDialect.labels.length === secondDialect.labels.length &&
    firstDialect.labels.every((label, index) => label === secondDialect.labels[index]) &&
    // Columns with points that may separate thousands are TEXT.
    firstDialect.columns.every((column, index) => column?.dataType === secondDialect.columns[index]?.dataType)
  )
}

const [LF, CR] = [10, 13]

/** True if the text ends at a position, or has a complete line end before it. */
function isLineStart(text: TextSource, position: number): boolean {
  const [byteBefore, byteAfter] = readAt(text, position - 1, 2)
  return byteAfter === undefined || byteBefore === LF || (byteBefore === CR && byteAfter !== LF)
}

const readLatin1 = (text: TextSource, position: number, length: number): string =>
  Buffer.from(readAt(text, position, length)).toString('latin1')
