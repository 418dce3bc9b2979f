import { SourceProblem, temporalTypes } from '@sluice/row-stream'
import {
  configureScanner,
  copyColumnStates,
  typesFromOptions,
  restoreColumnStates,
  inferColumnType,
} from '../column-state.ts'
import { type ColumnType, isDayFirst } from '../dialect/column-type.ts'
import type { InferredColumn, KnownColumns } from '../delimited-reader.ts'
import { NUMBER_CELL } from '../dialect/cell-kind.ts'
import type { DelimitedOptions } from '../dialect/delimited-options.ts'
import type { DelimitedDialect, DetectedDialect } from '../dialect/dialect.ts'
import { findFooter } from '../dialect/footer.ts'
import { readAt, readSample } from '../dialect/file-sample.ts'
import type { DelimitedLimits } from '../limits.ts'
import { observeText } from '../observe-column-types.ts'
import { detectText } from '../open-delimited-rows.ts'
import { SegmentText, type TextPart, type TextSegment } from './text-part.ts'
import type { TextSource } from '../text-file.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** A group of texts of a file that can be read as one text, because they all have the dialect of the first one. */
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

/** What all groups use. */
interface GroupingContext {
  options: DelimitedOptions
  limits: DelimitedLimits
  wasm: WasmScanner
}

/**
 * Groups the texts of a file that can be read as one text. Returns the groups in the order of their first texts. Calls
 * `onText` after each text.
 *
 * Texts are similar only if they begin with the same lines up to their first row. The dialect of a group is detected in
 * its first text, and its types are inferred from all its texts. Detection takes longer than reading a small text, so
 * the dialect of another text is only detected if the text may have a footer, has rows that cannot be read, or makes a
 * column TEXT or DECIMAL. If its dialect then differs, or if it writes numbers or times in another form, it is not
 * similar. Throws what `detectText` throws for the first text of a group.
 */
export function groupTextsByDialect(
  file: TextSource,
  segments: readonly TextSegment[],
  context: GroupingContext,
  onText: () => void = () => {},
): SimilarTexts[] {
  const groups = new SimilarGroups(context)
  for (const [index, segment] of segments.entries()) {
    groups.add(new SegmentText(file, segment), segment, index)
    onText()
  }
  return groups.results()
}

/** All groups until now. The scanner has the observations of only one of them, the active one, in its memory. */
class SimilarGroups {
  readonly #context: GroupingContext
  readonly #groups: SimilarGroup[] = []
  /**
   * The groups by the bytes before their first row, as Latin-1, so that each text is compared only with groups that
   * begin like it.
   */
  readonly #byStart = new Map<string, SimilarGroup[]>()
  readonly #startLengths = new Set<number>()
  #active: SimilarGroup | undefined

  constructor(context: GroupingContext) {
    this.#context = context
  }

  /** Adds a text to the first group to which it is similar, or else to a new one. */
  add(text: SegmentText, segment: TextSegment, index: number): void {
    for (const group of this.#listGroupsThatBeginLike(text)) {
      this.#activate(group)
      if (group.add(text, segment, index)) return
    }
    this.#activate(undefined)
    const group = new SimilarGroup(this.#context, text)
    this.#active = group
    this.#groups.push(group)
    this.#startLengths.add(group.start.length)
    const groupsWithStart = this.#byStart.get(group.start)
    if (groupsWithStart) groupsWithStart.push(group)
    else this.#byStart.set(group.start, [group])
    group.add(text, segment, index)
  }

  /** Returns all groups. */
  results(): SimilarTexts[] {
    return this.#groups.map((group) => {
      this.#activate(group)
      return group.result()
    })
  }

  /** Returns the groups that begin with the same bytes as a text, in the order in which they were created. */
  #listGroupsThatBeginLike(text: SegmentText): SimilarGroup[] {
    const start = readLatin1(text, text.skip, Math.max(0, ...this.#startLengths))
    const groups = [...this.#startLengths].flatMap((length) => this.#byStart.get(start.slice(0, length)) ?? [])
    return groups.length > 1 ? this.#groups.filter((group) => groups.includes(group)) : groups
  }

  /** Saves the observations of the active group, and restores those of another one in the scanner. */
  #activate(group: SimilarGroup | undefined): void {
    if (group === this.#active) return
    this.#active?.suspend()
    group?.resume()
    this.#active = group
  }
}

/**
 * One group of similar texts. Call `add` and `result` only while the group is active, so that the scanner has its
 * observations in memory (see `resume` and `suspend`).
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
  /** The column states, while another group is active. */
  #states: Buffer[] = []
  #types: ColumnType[] = []
  #hasSeenAllRows = true

  /** Detects the dialect of the first text, and sets the scanner for it. */
  constructor({ wasm, limits, options }: GroupingContext, first: SegmentText) {
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

  /** Copies the column states from the scanner, before another group uses it. */
  suspend(): void {
    this.#states = copyColumnStates(this.#wasm, this.#dialect.labels.length)
  }

  /** Restores the column states in the scanner. */
  resume(): void {
    configureScanner(this.#wasm, this.#dialect, this.#limits.chunkBytes)
    restoreColumnStates(this.#wasm, this.#states)
  }

  /** Adds a text that begins with the same bytes. Returns false if it is not similar. */
  add(text: SegmentText, segment: TextSegment, index: number): boolean {
    const dialectOfText = this.#observe(text)
    if (!dialectOfText) return false
    const { from, end, line } = dialectOfText
    this.#parts.push({ from: segment.from + from, end: segment.from + end, line })
    this.#indexes.push(index)
    return true
  }

  /** Returns the texts that were added, their dialect and their columns. */
  result(): SimilarTexts {
    return {
      detected: this.#detected,
      parts: this.#parts,
      known: this.#knownColumns(),
      indexes: this.#indexes,
      notes: this.#notes,
      unread: this.#unread,
    }
  }

  /**
   * Observes the values of a text, so that the types of the group fit them. Returns the dialect of the text, which says
   * where its rows are. If the text is not similar, discards its observations and returns undefined.
   */
  #observe(text: SegmentText): DelimitedDialect | undefined {
    if (text === this.#first) {
      const { isWhole } = observeText(this.#wasm, text, this.#dialect, text.size, this.#limits)
      this.#types = this.#inferTypes()
      this.#hasSeenAllRows = isWhole
      return this.#dialect
    }
    const groupDialect = this.#dialectFor(text)
    if (!groupDialect) return undefined
    let detected: DetectedDialect | undefined
    if (this.#mayHaveOtherDialect(text, groupDialect)) {
      detected = this.#detectSameDialect(text)
      if (!detected) return undefined
    }
    const statesBefore = copyColumnStates(this.#wasm, this.#dialect.labels.length)
    const assumedDialect = detected?.dialect ?? groupDialect
    const { isWhole, faultyRows } = observeText(this.#wasm, text, assumedDialect, text.size, this.#limits)
    const types = this.#inferTypes()
    const newTextColumns = [...types.keys()].filter((column) => this.#becomesText(column, types[column]!))
    // Points in this text may separate thousands. Only detection, which looks at all columns, reveals that.
    const hasNewDecimals = types.some((type, column) => this.#becomesDecimal(column, type))
    if (faultyRows > 0 || newTextColumns.length > 0 || hasNewDecimals) {
      detected ??= this.#detectSameDialect(text)
      if (!detected || this.#hasOtherForm(text, detected.dialect, newTextColumns)) {
        restoreColumnStates(this.#wasm, statesBefore)
        return undefined
      }
    }
    this.#types = types
    this.#hasSeenAllRows &&= isWhole
    if (detected) this.#addSentences(text, detected)
    return detected?.dialect ?? groupDialect
  }

  /** Adds the sentences for the log about a text with a detected dialect. */
  #addSentences({ name }: SegmentText, { guesses, notes, unread }: DetectedDialect): void {
    if (guesses.footerLines.value > 0) this.#notes.push(...notes.map((note) => `${name}: ${note}`))
    if (unread !== undefined) this.#unread.push(unread)
  }

  #knownColumns(): KnownColumns {
    const { labels } = this.#dialect
    const declaredTypes = typesFromOptions(this.#dialect)
    const columns = labels.map(
      (label, index): InferredColumn => ({ label, ...(declaredTypes[index] ?? this.#types[index]!) }),
    )
    return { columns, ...(this.#hasSeenAllRows && { states: copyColumnStates(this.#wasm, labels.length) }) }
  }

  /**
   * Returns the group's dialect with the positions of the rows in another text, which begins with the same bytes.
   * Returns undefined if these bytes do not end at the end of a line in that text.
   */
  #dialectFor(text: SegmentText): DelimitedDialect | undefined {
    const from = text.skip + this.start.length
    // The first text can be a header without a line end, or with half of one.
    if (this.start.length > 0 && !isLineStart(text, from)) return undefined
    return { ...this.#dialect, from, end: text.size }
  }

  /**
   * True if a text that begins with the same lines may have a footer, or may have a header although the first text has
   * none.
   */
  #mayHaveOtherDialect(text: SegmentText, { labels, trailing, headerLine, from }: DelimitedDialect): boolean {
    const { headerRow, footerLines } = this.#options
    const mayHaveHeader = headerLine === 0 && headerRow !== false
    if (footerLines !== undefined || mayHaveHeader) return true
    // These row properties recognise the most lines as footers, so no possible footer is missed.
    const shape = { fields: labels.length + trailing, rowsFrom: from, firstKind: NUMBER_CELL, hasGaps: false }
    const footer = findFooter(readSample(text, 0), text.size, this.#dialect, shape)
    return footer.lines > 0 || footer.doubt !== undefined
  }

  /** Detects the dialect of a text. Returns undefined if it differs from the group's, or if detection fails. */
  #detectSameDialect(text: SegmentText): DetectedDialect | undefined {
    try {
      const detected = detectText(text, this.#options)
      return isSameDialect(detected.dialect, this.#dialect) ? detected : undefined
    } catch (error) {
      // The text is then read separately, which reports the problem.
      if (error instanceof SourceProblem) return undefined
      throw error
    }
  }

  /** Returns the types that fit the observed values. */
  #inferTypes(): ColumnType[] {
    return this.#dialect.labels.map((_, column) => inferColumnType(this.#wasm, column))
  }

  /** True if the values of the added text change the type of a column to TEXT. */
  #becomesText(column: number, type: ColumnType): boolean {
    return isDecidedText(type) && !isDecidedText(this.#types[column]!)
  }

  /** True if the values of the added text change the type of a column to DECIMAL. */
  #becomesDecimal(column: number, { dataType }: ColumnType): boolean {
    return dataType === 'DECIMAL' && this.#types[column]!.dataType !== 'DECIMAL'
  }

  /**
   * True if one of the columns became TEXT only because its numbers or times have another form in this text than in the
   * group. False if this form contradicts the order of day and month in the group: the ambiguous dates of the group are
   * then unreliable, so the column must stay TEXT.
   */
  #hasOtherForm(text: SegmentText, dialect: DelimitedDialect, newTextColumns: readonly number[]): boolean {
    if (newTextColumns.length === 0) return false
    const groupStates = copyColumnStates(this.#wasm, dialect.labels.length)
    configureScanner(this.#wasm, dialect, this.#limits.chunkBytes)
    observeText(this.#wasm, text, dialect, text.size, this.#limits)
    const typesOfText = this.#inferTypes()
    restoreColumnStates(this.#wasm, groupStates)
    return newTextColumns.some((column) => {
      const [groupType, textType] = [this.#types[column]!, typesOfText[column]!]
      const isGroupDayFirst = isDayFirst(groupType)
      const hasOtherDateOrder = isGroupDayFirst !== undefined && isDayFirst(textType) === !isGroupDayFirst
      const areBothIn = (family: readonly string[]) =>
        family.includes(groupType.dataType) && family.includes(textType.dataType)
      return (areBothIn(temporalTypes) || areBothIn(numericTypes)) && !hasOtherDateOrder
    })
  }
}

/** True if a column is TEXT because of its values, not because it has none or only ambiguous dates. */
const isDecidedText = ({ dataType, evidence }: ColumnType): boolean => dataType === 'TEXT' && evidence === undefined

function isSameDialect(firstDialect: DelimitedDialect, secondDialect: DelimitedDialect): boolean {
  const keys = ['delimiter', 'quote', 'escape', 'padded', 'comment', 'decimal', 'trailing', 'headerLine'] as const
  return (
    keys.every((key) => firstDialect[key] === secondDialect[key]) &&
    firstDialect.labels.length === secondDialect.labels.length &&
    firstDialect.labels.every((label, index) => label === secondDialect.labels[index]) &&
    // A column with points that may separate thousands has the type TEXT here.
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
