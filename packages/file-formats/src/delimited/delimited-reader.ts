import {
  configureScanner,
  copyColumnStates,
  typesFromOptions,
  hasOtherDateOrder,
  mergeColumnStates,
  inferColumnType,
  setColumnType,
} from './column-state.ts'
import { type ColumnType, isSameType } from './dialect/column-type.ts'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { DelimitedLimits } from './limits.ts'
import { startScanner, type WasmScanner } from './wasm-scanner.ts'
import { findOddValues, type OddValue } from './values-of-unexpected-type.ts'
import { type PassEnding, RecordPass, type TupleBatch } from './process-records.ts'
import { observeText } from './observe-column-types.ts'
import { openRows } from './open-delimited-rows.ts'
import { findLostFormats, type LostFormat } from './source-formats/find-lost-formats.ts'
import { findSourceFormats } from './source-formats/find-source-formats.ts'
import { setRowSuffix, type TextPart } from './similar-texts/text-part.ts'
import type { TextSource } from './text-file.ts'

/** A column of the file with its type. The table may use another column name. */
export interface InferredColumn extends ColumnType {
  label: string
}

/** Receives the progress of a pass over the file: the bytes and rows read until now. */
export type ProgressListener = (bytes: number, rows: number) => void

/** Columns that an earlier reader determined. Includes the scanner's column states if that reader observed all rows. */
export interface KnownColumns {
  columns: InferredColumn[]
  states?: Uint8Array[]
}

/**
 * The result of encoding. Either all rows were encoded: `rows` is their number, including rejected rows, and
 * `writtenRowCounts` has the number of encoded rows of each part, without rejected rows. Or the inferred types were too
 * narrow: `widened` has the columns with types that fit all rows.
 */
export type EncodingOutcome = { rows: number; writtenRowCounts: number[] } | { widened: InferredColumn[] }

/**
 * Reads a file, or several parts of a file with the same dialect, as rows in PostgreSQL's binary COPY format. Types are
 * inferred from samples, so they may not fit all rows. Encoding checks them: every value must fit its column's type,
 * and every column must have a value that needs its type fully. At the first value that does not fit, encoding stops
 * and the remaining rows are only observed. The outcome `widened` then contains exactly the types of the whole file.
 */
export class DelimitedReader {
  /** The inferred columns. After an outcome `widened`, the final columns. */
  columns: InferredColumn[]
  /** The source format of each column; known after `encode` has written all rows. */
  sourceFormats: readonly (string | undefined)[] = []
  readonly #wasm: WasmScanner
  readonly #file: TextSource
  readonly #dialect: DelimitedDialect
  readonly #limits: DelimitedLimits
  /** The types from the options, by column. */
  readonly #declaredTypes: readonly (ColumnType | undefined)[]
  /**
   * The scanner's column states (one buffer each) after it observed all rows. Set by the first pass over the whole
   * file.
   */
  #statesAfterAllRows: readonly Uint8Array[] | undefined
  /** The parts of the file that contain its rows, usually one. */
  readonly #parts: readonly TextPart[]

  /** Creates a reader. Infers the types from samples, unless `known` contains them. */
  constructor(
    file: TextSource,
    dialect: DelimitedDialect,
    limits: DelimitedLimits,
    wasm: WasmScanner = startScanner(),
    { parts, known: knownColumns }: { parts: readonly TextPart[]; known?: KnownColumns } = { parts: [dialect] },
  ) {
    this.#wasm = wasm
    this.#file = file
    this.#dialect = dialect
    this.#limits = limits
    this.#declaredTypes = typesFromOptions(dialect)
    this.#parts = parts
    if (knownColumns) {
      this.columns = knownColumns.columns
      this.#statesAfterAllRows = knownColumns.states
      return
    }
    configureScanner(wasm, dialect, limits.chunkBytes)
    const { isWhole } = observeText(wasm, file, dialect, file.size, limits)
    this.columns = this.#inferColumns()
    if (isWhole) this.#statesAfterAllRows = copyColumnStates(wasm, this.columns.length)
  }

  /**
   * Encodes all rows for these stored types, one per column. Can be called again. A batch is valid until the next one
   * is requested. Throws SourceProblem FILE_CHANGED if the file changed since it was opened.
   */
  *encode(
    storedTypes: readonly StoredType[],
    onProgress: ProgressListener = () => {},
  ): Generator<TupleBatch, EncodingOutcome, void> {
    const { columns } = this
    const wasm = this.#wasm
    this.#file.assertUnchanged()
    configureScanner(wasm, this.#dialect, this.#limits.chunkBytes)
    for (const [index, column] of columns.entries()) {
      setColumnType(wasm, index, column, storedTypes[index]!, this.#declaredTypes[index] === undefined)
    }
    wasm.run.resetUnconfirmedColumns(columns.length)
    wasm.run.clearOutput()
    const { ending, rows, writtenRowCounts } = yield* this.#encodeParts(onProgress)
    this.#file.assertUnchanged()
    // Rejected rows must not affect types, and the stored types determine which rows are rejected. Repeated passes end,
    // because types only widen.
    if (this.#statesAfterAllRows) mergeColumnStates(wasm, this.#statesAfterAllRows)
    this.#statesAfterAllRows = copyColumnStates(wasm, columns.length)
    this.assertDateOrders()
    const observedColumns = this.#inferColumns()
    this.columns = observedColumns
    const areTypesUnchanged = observedColumns.every((column, index) => isSameType(column, columns[index]!))
    if (ending !== 'END' || !areTypesUnchanged) return { widened: observedColumns }
    this.sourceFormats = findSourceFormats(wasm, observedColumns, this.#dialect)
    return { rows, writtenRowCounts }
  }

  /**
   * Finds columns that are TEXT because of a few odd values. Searches the first `maxBytes` bytes. Call it after the
   * last `encode`.
   */
  findOddValues(maxBytes?: number): OddValue[] {
    return findOddValues(this.#wasm, this.#file, this.#dialect, this.#limits, this.columns, {
      parts: this.#parts,
      ...(maxBytes !== undefined && { maxBytes }),
    })
  }

  /** Finds values that are not printed in the formats of earlier loads. Call it after the last `encode`. */
  findLostFormats(): LostFormat[] {
    return findLostFormats(this.#wasm, this.#file, this.#dialect, this.#limits, this.columns, {
      parts: this.#parts,
      sourceFormats: this.sourceFormats,
    })
  }

  /** Returns the columns with the types from the options, or else the types that fit the observed values. */
  #inferColumns(): InferredColumn[] {
    return this.#dialect.labels.map((label, index) => ({
      label,
      ...(this.#declaredTypes[index] ?? inferColumnType(this.#wasm, index)),
    }))
  }

  /** The columns and their states, for another reader of the same rows. */
  get known(): KnownColumns {
    return { columns: this.columns, ...(this.#statesAfterAllRows && { states: [...this.#statesAfterAllRows] }) }
  }

  /** True if the types were inferred from all rows, not from samples. */
  get hasSeenAllRows(): boolean {
    return this.#statesAfterAllRows !== undefined
  }

  /**
   * Throws SourceProblem DATE_ORDER_CHANGED if observed values contradict the order of day and month in earlier files.
   */
  assertDateOrders(): void {
    const { dayFirst = [], labels } = this.#dialect
    const column = labels.findIndex((_, index) => hasOtherDateOrder(this.#wasm, index, dayFirst[index]))
    if (column < 0) return
    const [currentFirst, previousFirst] = dayFirst[column] ? ['month', 'day'] : ['day', 'month']
    throw new SourceProblem(
      'DATE_ORDER_CHANGED',
      `Column "${labels[column]}" has the ${currentFirst} first in some of its dates, but the table has the ${previousFirst} first. Nothing was loaded, because the other dates are ambiguous. Write the dates as before.`,
      { advice: { pipeline: 'Alternatively, set dateFormat of the column.' } },
    )
  }

  /**
   * Encodes the parts one after the other. After a record that does not fit the inferred types, encodes no more records
   * and only observes the remaining ones.
   */
  *#encodeParts(onProgress: ProgressListener): Generator<TupleBatch, EncodedParts, void> {
    const types = this.columns.map(({ dataType }) => dataType)
    const writtenRowCounts: number[] = []
    let ending: EncodedParts['ending'] = 'END'
    let bytesBefore = 0
    let rowsBefore = 0
    for (const [index, part] of this.#parts.entries()) {
      const rows = openRows(this.#file, { ...this.#dialect, ...part }, this.#limits, this.#wasm.window)
      const recordPass = new RecordPass(this.#wasm, rows, types)
      // The progress of a file with one part includes its header.
      const positionOffset = this.#parts.length === 1 ? 0 : bytesBefore - part.from
      rows.records.onRead = () => onProgress(positionOffset + rows.reader.position, rowsBefore + recordPass.rows)
      if (ending === 'END') {
        setRowSuffix(this.#wasm, part.suffix)
        const isLastPart = index === this.#parts.length - 1
        ending = yield* addNameToReasons(part, recordPass.encode(isLastPart))
      }
      if (ending === 'TYPES_TOO_NARROW') recordPass.observe(Infinity)
      writtenRowCounts.push(recordPass.rows - recordPass.rejectedRows)
      rowsBefore += recordPass.rows
      bytesBefore += part.end - part.from
    }
    return { ending, rows: rowsBefore, writtenRowCounts }
  }
}

interface EncodedParts {
  ending: PassEnding
  rows: number
  writtenRowCounts: number[]
}

/** Yields the batches of a part. The reasons of its rejected rows start with the part's name, if it has one. */
function* addNameToReasons(
  { name }: TextPart,
  batches: Generator<TupleBatch, PassEnding, void>,
): Generator<TupleBatch, PassEnding, void> {
  for (;;) {
    const step = batches.next()
    if (step.done) return step.value
    const { tuples, rejected } = step.value
    yield name === undefined
      ? step.value
      : { tuples, rejected: rejected.map((row) => ({ ...row, reason: `${name}: ${row.reason}` })) }
  }
}
