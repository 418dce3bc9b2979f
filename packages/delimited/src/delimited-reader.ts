import { type ColumnProfile, readProfiles, startProfiles } from './column-profile.ts'
import { closeColumn, copySeenValues, hasOtherDateOrder, mergeSeenValues, seenType, setColumn } from './column-state.ts'
import { type ColumnType, type StoredType, isSameType } from './column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { DelimitedLimits } from './limits.ts'
import { type WasmScanner, OBSERVE, ODD_RECORD, startScanner } from './wasm-scanner.ts'
import { type OddValue, findOddValues } from './odd-values.ts'
import { type TupleBatch, RecordPass } from './record-pass.ts'
import { DelimitedProblem } from './problem.ts'
import { type RowInput, openRows } from './open-rows.ts'
import type { TextSource } from './text-file.ts'
import { givenTypes, configureScanner } from './configure-scanner.ts'
import { afterLineEnd } from './record-scanner.ts'
import { isPlain } from './field-places.ts'

/** A column as the file has it; what it is called elsewhere is not up to the file. */
export interface InferredColumn extends ColumnType {
  label: string
}

/** Told whenever more of the file was read: how far it is read, and the rows before that. */
export type ProgressListener = (bytes: number, rows: number) => void

/** How reading came to its end: with every row written, or with the types that hold for every row, since the guessed ones did not. */
export type EncodingOutcome = { rows: number; profiles: ColumnProfile[] } | { widened: InferredColumn[] }

/**
 * One file, read as tuples of PostgreSQL's binary COPY. Types are guessed from samples, and writing the rows is the proof: every value
 * has to fit, and every column has to hold a value that needs its type. Where the guess fails the rest is only looked at, so
 * that the types told then are exactly those of the whole file.
 */
export class DelimitedReader {
  /** As guessed; after an outcome `widened` as they are. */
  columns: InferredColumn[]
  readonly #machine: WasmScanner
  readonly #file: TextSource
  readonly #dialect: DelimitedDialect
  readonly #limits: DelimitedLimits
  /** Types that are no guess. */
  readonly #given: readonly (ColumnType | undefined)[]
  /** What the columns held in all rows, once every row was looked at. */
  #seenInAll: Buffer[] | undefined

  /** Guesses the types. */
  constructor(
    file: TextSource,
    dialect: DelimitedDialect,
    limits: DelimitedLimits,
    machine: WasmScanner = startScanner(),
  ) {
    this.#machine = machine
    this.#file = file
    this.#dialect = dialect
    this.#limits = limits
    this.#given = givenTypes(dialect)
    const rows = this.#start()
    const whole = observeSamples(machine, file, dialect, rows, limits)
    this.columns = this.#seen()
    if (whole) this.#seenInAll = copySeenValues(machine, this.columns.length)
  }

  /**
   * Writes all rows as they are `stored`, one type for each column; may be asked again from the start. A batch is to be used before the
   * next is asked for. Throws DelimitedProblem FILE_CHANGED when the file is no longer the one that was opened.
   */
  *encode(
    stored: readonly StoredType[],
    tell: ProgressListener = () => {},
  ): Generator<TupleBatch, EncodingOutcome, void> {
    const { columns } = this
    const machine = this.#machine
    this.#file.assertUnchanged()
    const rows = this.#start()
    for (const [index, column] of columns.entries()) {
      setColumn(machine, index, column, stored[index]!, this.#given[index] === undefined)
    }
    machine.run.openColumns(columns.length)
    startProfiles(machine, stored)
    const pass = new RecordPass(
      machine,
      rows,
      columns.map(({ dataType }) => dataType),
    )
    rows.records.onRead = () => tell(rows.reader.position, pass.rows)
    const ending = yield* pass.encode()
    if (ending === 'NOT_AS_GUESSED') pass.observe(Infinity)
    this.#file.assertUnchanged()
    // A row that is refused says nothing about types, and which rows are refused depends on what is stored. Types that only ever get
    // wider come to an end.
    if (this.#seenInAll) mergeSeenValues(machine, this.#seenInAll)
    this.#seenInAll = copySeenValues(machine, columns.length)
    this.assertDateOrders()
    const seen = this.#seen()
    if (ending === 'END' && seen.every((column, index) => isSameType(column, columns[index]!))) {
      this.columns = seen
      return { rows: pass.rows, profiles: readProfiles(machine, stored, pass.rows - pass.rejectedRows) }
    }
    this.columns = seen
    return { widened: seen }
  }

  /** Finds columns that are TEXT because of a few odd values in the first `maxBytes` bytes. Call it after the last `encode`. */
  findOddValues(maxBytes?: number): OddValue[] {
    return findOddValues(this.#machine, this.#file, this.#dialect, this.#limits, this.columns, maxBytes)
  }

  #seen(): InferredColumn[] {
    return this.#dialect.labels.map((label, index) => ({
      label,
      ...(this.#given[index] ?? seenType(this.#machine, index)),
    }))
  }

  /** Whether the types were inferred from all rows, and not from samples. */
  get hasSeenAllRows(): boolean {
    return this.#seenInAll !== undefined
  }

  /** Throws DelimitedProblem DATE_ORDER_CHANGED if values that were seen contradict the date order of earlier files. */
  assertDateOrders(): void {
    const { dayFirst = [], labels } = this.#dialect
    const column = labels.findIndex((_, index) => hasOtherDateOrder(this.#machine, index, dayFirst[index]))
    if (column < 0) return
    const [now, before] = dayFirst[column] ? ['month', 'day'] : ['day', 'month']
    throw new DelimitedProblem(
      'DATE_ORDER_CHANGED',
      `Column "${labels[column]}" has the ${now} first in some of its dates, but the table has the ${before} first. Nothing was loaded, because the other dates are ambiguous. Write the dates as before.`,
      { advice: 'Alternatively, set dateFormat of the column.' },
    )
  }

  /** Opens the rows, with nothing known of their types but what is given. */
  #start(): RowInput {
    configureScanner(this.#machine, this.#dialect, this.#limits.chunkBytes)
    return openRows(this.#file, this.#dialect, this.#limits, this.#machine.window)
  }
}

/**
 * Lets the machine see enough of a file to guess its types: all of a short one, else the start, the end and slices in between.
 * A slice begins somewhere in a record, perhaps inside quotes: what makes no sense there is stepped over by the line, and
 * what is misread only makes the guess worse. Returns whether all rows were seen.
 */
function observeSamples(
  machine: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  rows: RowInput,
  limits: DelimitedLimits,
): boolean {
  const { from, end } = dialect
  const whole = file.size <= limits.wholeBytes
  new RecordPass(machine, rows).observe(whole ? Infinity : from + limits.sampleBytes)
  const atFirst = dialect.labels.map((_, column) => seenType(machine, column))
  if (whole || file.encoding !== 'UTF-8' || !isPlain(dialect)) return whole
  const { sampleBytes, slices, sliceBytes } = limits
  const first = from + sampleBytes
  const last = Math.max(end - sampleBytes, first)
  if (first >= end) return true
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(first + ((last - first) * slice) / slices)
    observeSlice(machine, file, position, Math.min(sliceBytes, last - position))
  }
  observeSlice(machine, file, last, end - last)
  const unsure = atFirst.flatMap((type, column) => (isUnsure(type, seenType(machine, column)) ? [column] : []))
  if (unsure.length > 0) observeColumns(machine, unsure, openRows(file, dialect, limits, machine.window))
  return false
}

/** Nobody writes that many decimals by hand: what has them was computed, and the value with most of them is rare. */
const computedScale = 15

/**
 * How many digits a column has at most, samples tell only where all values are alike. A DECIMAL that grew from sample to sample, or holds what
 * looks like printed doubles, will hardly hold, and looking at all of it costs half of what a failed guess does.
 */
function isUnsure(atFirst: ColumnType, now: ColumnType): boolean {
  if (now.dataType !== 'DECIMAL') return false
  return now.scale! >= computedScale || (atFirst.dataType === 'DECIMAL' && !isSameType(atFirst, now))
}

/** Looks at these columns of all rows, and at no others. */
function observeColumns(machine: WasmScanner, columns: readonly number[], rows: RowInput): void {
  const others = Array.from({ length: rows.shape.labels.length }, (_, column) => column).filter(
    (column) => !columns.includes(column),
  )
  const resume = others.map((column) => closeColumn(machine, column))
  new RecordPass(machine, rows).observe(Infinity)
  for (const open of resume) open()
}

/** What begins behind the first line end, as far as it ends in the slice. */
function observeSlice({ run, window }: WasmScanner, file: TextSource, position: number, length: number): void {
  const end = file.read(window, 0, length, position)
  for (let from = afterLineEnd(window, 0, end, false); from >= 0 && from < end; ) {
    const why = run.scan(window.byteOffset + from, window.byteOffset + end, OBSERVE)
    if (why !== ODD_RECORD) return
    from = afterLineEnd(window, run.stoppedAt.value - window.byteOffset, end, false)
  }
}
