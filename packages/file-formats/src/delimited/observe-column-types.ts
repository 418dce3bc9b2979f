import { pauseObservation, inferColumnType } from './column-state.ts'
import { type ColumnType, isSameType } from './dialect/column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import { isScannableGrammar } from './field-positions.ts'
import type { DelimitedLimits } from './limits.ts'
import { openRows, type RowInput } from './open-delimited-rows.ts'
import { RecordPass } from './process-records.ts'
import { afterLineEnd } from './record-scanner.ts'
import type { TextSource } from './text-file.ts'
import { OBSERVE, STOPPED_AT_IRREGULAR_RECORD, type WasmScanner } from './wasm-scanner.ts'

/**
 * The result of observing a text: whether all its rows were observed, and how many of the observed rows cannot be read.
 */
interface Observation {
  isWhole: boolean
  faultyRows: number
}

/**
 * Observes enough of a text to infer its types: all rows of a short text, otherwise its start and samples of the rest.
 * Observes only the start if the scanner cannot read the grammar by itself. Finally observes all rows for the columns
 * whose types are probably too narrow. `size` is the size of the whole text, including its header.
 */
export function observeText(
  wasm: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  size: number,
  limits: DelimitedLimits,
): Observation {
  const isShort = size <= limits.wholeBytes
  const endOfStart = dialect.from + limits.sampleBytes
  const passOfStart = new RecordPass(wasm, openRows(file, dialect, limits, wasm.window))
  passOfStart.observe(isShort ? Infinity : endOfStart)
  const { faultyRows } = passOfStart
  if (isShort) return { isWhole: true, faultyRows }
  if (!isScannableGrammar(dialect)) return { isWhole: false, faultyRows }
  if (endOfStart >= dialect.end) return { isWhole: true, faultyRows }
  const typesAfterStart = dialect.labels.map((_, column) => inferColumnType(wasm, column))
  observeSamples(wasm, file, endOfStart, dialect.end, limits)
  const narrowColumns = typesAfterStart.flatMap((typeAfterStart, column) =>
    isProbablyTooNarrow(typeAfterStart, inferColumnType(wasm, column)) ? [column] : [],
  )
  if (narrowColumns.length > 0) observeColumns(wasm, narrowColumns, openRows(file, dialect, limits, wasm.window))
  return { isWhole: false, faultyRows }
}

/**
 * Observes slices at equal distances from `from` on, and the end of the text. A slice can start inside a record or a
 * quote. Lines that cannot be scanned are skipped, and misread values only make the inferred types worse, which
 * encoding detects.
 */
function observeSamples(
  wasm: WasmScanner,
  file: TextSource,
  from: number,
  end: number,
  { sampleBytes, slices, sliceBytes }: DelimitedLimits,
): void {
  const startOfEnd = Math.max(end - sampleBytes, from)
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(from + ((startOfEnd - from) * slice) / slices)
    observeSlice(wasm, file, position, Math.min(sliceBytes, startOfEnd - position))
  }
  observeSlice(wasm, file, startOfEnd, end - startOfEnd)
}

/**
 * Values with at least this many decimal places were computed. The value with the most digits is then rare, so samples
 * probably miss it.
 */
const minComputedScale = 15

/**
 * True if the type inferred from samples is probably too narrow: a DECIMAL that was narrower after the first sample, or
 * whose values are printed doubles. Samples show the maximum number of digits only if all values are similar. Observing
 * the whole column costs half as much as a failed pass.
 */
function isProbablyTooNarrow(typeAfterStart: ColumnType, type: ColumnType): boolean {
  if (type.dataType !== 'DECIMAL') return false
  const hasGrown = typeAfterStart.dataType === 'DECIMAL' && !isSameType(typeAfterStart, type)
  return type.scale! >= minComputedScale || hasGrown
}

/** Observes the values of these columns in all rows. The observation of the other columns is paused meanwhile. */
function observeColumns(wasm: WasmScanner, columns: readonly number[], rows: RowInput): void {
  const resumeFunctions: (() => void)[] = []
  for (const column of rows.shape.labels.keys()) {
    if (!columns.includes(column)) resumeFunctions.push(pauseObservation(wasm, column))
  }
  new RecordPass(wasm, rows).observe(Infinity)
  for (const resumeObservation of resumeFunctions) resumeObservation()
}

/** Observes the records that start after the slice's first line end and end within the slice. */
function observeSlice({ run, window }: WasmScanner, file: TextSource, position: number, length: number): void {
  const end = file.read(window, 0, length, position)
  for (let from = afterLineEnd(window, 0, end, false); from >= 0 && from < end; ) {
    const stopReason = run.scan(window.byteOffset + from, window.byteOffset + end, OBSERVE)
    if (stopReason !== STOPPED_AT_IRREGULAR_RECORD) return
    from = afterLineEnd(window, run.stoppedAt.value - window.byteOffset, end, false)
  }
}
