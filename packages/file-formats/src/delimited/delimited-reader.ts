import {
  closeColumn,
  configureScanner,
  copyColumnStates,
  givenTypes,
  hasOtherDateOrder,
  mergeColumnStates,
  seenType,
  setColumn,
} from './column-state.ts'
import { type ColumnType, isSameType } from './column-type.ts'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { DelimitedLimits } from './limits.ts'
import { OBSERVE, ODD_RECORD, startScanner, type WasmScanner } from './wasm-scanner.ts'
import { findOddValues, type OddValue } from './odd-values.ts'
import { RecordPass, type TupleBatch } from './record-pass.ts'
import { openRows, type RowInput } from './open-delimited-rows.ts'
import type { TextSource } from './text-file.ts'
import { afterLineEnd } from './record-scanner.ts'
import { isPlain } from './field-positions.ts'

/** A column of the file with its type. The table may use another name. */
export interface InferredColumn extends ColumnType {
  label: string
}

/** Receives the progress of a pass: the bytes and rows that were read. */
export type ProgressListener = (bytes: number, rows: number) => void

/** The result of a pass: all rows were encoded, or the inferred types were too narrow and `widened` has types that fit all rows. */
export type EncodingOutcome = { rows: number } | { widened: InferredColumn[] }

/**
 * Reads one file as tuples of PostgreSQL's binary COPY. Types are inferred from samples, so they may differ from the types that all
 * rows need. Encoding the rows checks this: every value must fit the type of its column, and every column must have a value that needs
 * its type. At the first value that does not fit, encoding ends and the remaining rows are only observed. The outcome `widened` then
 * has exactly the types of the whole file.
 */
export class DelimitedReader {
  /** The inferred columns; after an outcome `widened`, the final ones. */
  columns: InferredColumn[]
  readonly #wasm: WasmScanner
  readonly #file: TextSource
  readonly #dialect: DelimitedDialect
  readonly #limits: DelimitedLimits
  /** Types that the options give. */
  readonly #given: readonly (ColumnType | undefined)[]
  /** The scanner's state of each column (a buffer each) after it observed all rows; set by the first pass over the whole file. */
  #statesAfterAllRows: Buffer[] | undefined

  /** Infers the types from samples. */
  constructor(
    file: TextSource,
    dialect: DelimitedDialect,
    limits: DelimitedLimits,
    wasm: WasmScanner = startScanner(),
  ) {
    this.#wasm = wasm
    this.#file = file
    this.#dialect = dialect
    this.#limits = limits
    this.#given = givenTypes(dialect)
    const rows = this.#start()
    const whole = observeSamples(wasm, file, dialect, rows, limits)
    this.columns = this.#seen()
    if (whole) this.#statesAfterAllRows = copyColumnStates(wasm, this.columns.length)
  }

  /**
   * Encodes all rows for these stored types, one for each column. Can be called again. A batch is valid until the next one is requested.
   * Throws SourceProblem FILE_CHANGED if the file changed since it was opened.
   */
  *encode(
    stored: readonly StoredType[],
    onProgress: ProgressListener = () => {},
  ): Generator<TupleBatch, EncodingOutcome, void> {
    const { columns } = this
    const wasm = this.#wasm
    this.#file.assertUnchanged()
    const rows = this.#start()
    for (const [index, column] of columns.entries()) {
      setColumn(wasm, index, column, stored[index]!, this.#given[index] === undefined)
    }
    wasm.run.openColumns(columns.length)
    const pass = new RecordPass(
      wasm,
      rows,
      columns.map(({ dataType }) => dataType),
    )
    rows.records.onRead = () => onProgress(rows.reader.position, pass.rows)
    const ending = yield* pass.encode()
    if (ending === 'NOT_AS_GUESSED') pass.observe(Infinity)
    this.#file.assertUnchanged()
    // Rejected rows do not count for types, and the stored types decide which rows are rejected. The passes end, because types only widen.
    if (this.#statesAfterAllRows) mergeColumnStates(wasm, this.#statesAfterAllRows)
    this.#statesAfterAllRows = copyColumnStates(wasm, columns.length)
    this.assertDateOrders()
    const seen = this.#seen()
    if (ending === 'END' && seen.every((column, index) => isSameType(column, columns[index]!))) {
      this.columns = seen
      return { rows: pass.rows }
    }
    this.columns = seen
    return { widened: seen }
  }

  /** Finds columns that are TEXT because of a few odd values in the first `maxBytes` bytes. Call it after the last `encode`. */
  findOddValues(maxBytes?: number): OddValue[] {
    return findOddValues(this.#wasm, this.#file, this.#dialect, this.#limits, this.columns, maxBytes)
  }

  #seen(): InferredColumn[] {
    return this.#dialect.labels.map((label, index) => ({
      label,
      ...(this.#given[index] ?? seenType(this.#wasm, index)),
    }))
  }

  /** Whether the types were inferred from all rows, and not from samples. */
  get hasSeenAllRows(): boolean {
    return this.#statesAfterAllRows !== undefined
  }

  /** Throws SourceProblem DATE_ORDER_CHANGED if values that were seen contradict the date order of earlier files. */
  assertDateOrders(): void {
    const { dayFirst = [], labels } = this.#dialect
    const column = labels.findIndex((_, index) => hasOtherDateOrder(this.#wasm, index, dayFirst[index]))
    if (column < 0) return
    const [now, before] = dayFirst[column] ? ['month', 'day'] : ['day', 'month']
    throw new SourceProblem(
      'DATE_ORDER_CHANGED',
      `Column "${labels[column]}" has the ${now} first in some of its dates, but the table has the ${before} first. Nothing was loaded, because the other dates are ambiguous. Write the dates as before.`,
      { advice: { pipeline: 'Alternatively, set dateFormat of the column.' } },
    )
  }

  /** Opens the rows and resets the types to the given ones. */
  #start(): RowInput {
    configureScanner(this.#wasm, this.#dialect, this.#limits.chunkBytes)
    return openRows(this.#file, this.#dialect, this.#limits, this.#wasm.window)
  }
}

/**
 * Observes enough of a file to infer its types: all of a short file, else the start, the end and slices in between. A slice can begin
 * inside a record or a quote: lines that cannot be scanned are skipped, and misread values only make the inference worse. Returns whether
 * all rows were observed.
 */
function observeSamples(
  wasm: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  rows: RowInput,
  limits: DelimitedLimits,
): boolean {
  const { from, end } = dialect
  const readsWholeFile = file.size <= limits.wholeBytes
  new RecordPass(wasm, rows).observe(readsWholeFile ? Infinity : from + limits.sampleBytes)
  const atFirst = dialect.labels.map((_, column) => seenType(wasm, column))
  if (readsWholeFile || !isPlain(dialect)) return readsWholeFile
  const { sampleBytes, slices, sliceBytes } = limits
  const first = from + sampleBytes
  const last = Math.max(end - sampleBytes, first)
  if (first >= end) return true
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(first + ((last - first) * slice) / slices)
    observeSlice(wasm, file, position, Math.min(sliceBytes, last - position))
  }
  observeSlice(wasm, file, last, end - last)
  const unsure = atFirst.flatMap((type, column) => (isUnsure(type, seenType(wasm, column)) ? [column] : []))
  if (unsure.length > 0) observeColumns(wasm, unsure, openRows(file, dialect, limits, wasm.window))
  return false
}

/** Values with this many decimals were computed, and the value with the most decimals is rare. */
const computedScale = 15

/**
 * Samples show the maximum number of digits only if all values are similar. A DECIMAL that grew from sample to sample, or that has printed
 * doubles, is probably too narrow, and observing the whole column costs half as much as a failed pass.
 */
function isUnsure(atFirst: ColumnType, now: ColumnType): boolean {
  if (now.dataType !== 'DECIMAL') return false
  return now.scale! >= computedScale || (atFirst.dataType === 'DECIMAL' && !isSameType(atFirst, now))
}

function observeColumns(wasm: WasmScanner, columns: readonly number[], rows: RowInput): void {
  const otherColumns = Array.from({ length: rows.shape.labels.length }, (_, column) => column).filter(
    (column) => !columns.includes(column),
  )
  const resume = otherColumns.map((column) => closeColumn(wasm, column))
  new RecordPass(wasm, rows).observe(Infinity)
  for (const open of resume) open()
}

/** Observes the records that start after the slice's first line break and end within the slice. */
function observeSlice({ run, window }: WasmScanner, file: TextSource, position: number, length: number): void {
  const end = file.read(window, 0, length, position)
  for (let from = afterLineEnd(window, 0, end, false); from >= 0 && from < end; ) {
    const why = run.scan(window.byteOffset + from, window.byteOffset + end, OBSERVE)
    if (why !== ODD_RECORD) return
    from = afterLineEnd(window, run.stoppedAt.value - window.byteOffset, end, false)
  }
}
