import { closeColumn, seenType } from './column-state.ts'
import { type ColumnType, isSameType } from './dialect/column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import { isPlain } from './field-positions.ts'
import type { DelimitedLimits } from './limits.ts'
import { openRows, type RowInput } from './open-delimited-rows.ts'
import { RecordPass } from './record-pass.ts'
import { afterLineEnd } from './record-scanner.ts'
import type { TextSource } from './text-file.ts'
import { OBSERVE, ODD_RECORD, type WasmScanner } from './wasm-scanner.ts'

/**
 * The result of observing a text: whether all its rows were observed, and how many of the observed rows cannot be read.
 */
interface Observation {
  isWhole: boolean
  faultyRows: number
}

/**
 * Observes enough of a text to infer its types: all of a short text, otherwise the start, the end and slices in
 * between. A slice can start inside a record or a quote. Lines that cannot be scanned are skipped, and misread values
 * only make the inferred types worse, which encoding detects. `size` is the size of the whole text, including its
 * header.
 */
export function observeText(
  wasm: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  size: number,
  limits: DelimitedLimits,
): Observation {
  const { from, end } = dialect
  const readsWholeText = size <= limits.wholeBytes
  const samplePass = new RecordPass(wasm, openRows(file, dialect, limits, wasm.window))
  samplePass.observe(readsWholeText ? Infinity : from + limits.sampleBytes)
  const { faultyRows } = samplePass
  const typesInSample = dialect.labels.map((_, column) => seenType(wasm, column))
  if (readsWholeText || !isPlain(dialect)) return { isWhole: readsWholeText, faultyRows }
  const { sampleBytes, slices, sliceBytes } = limits
  const firstSliceStart = from + sampleBytes
  const lastSliceStart = Math.max(end - sampleBytes, firstSliceStart)
  if (firstSliceStart >= end) return { isWhole: true, faultyRows }
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(firstSliceStart + ((lastSliceStart - firstSliceStart) * slice) / slices)
    observeSlice(wasm, file, position, Math.min(sliceBytes, lastSliceStart - position))
  }
  observeSlice(wasm, file, lastSliceStart, end - lastSliceStart)
  const unsureColumns = typesInSample.flatMap((type, column) =>
    isUnsure(type, seenType(wasm, column)) ? [column] : [],
  )
  if (unsureColumns.length > 0) observeColumns(wasm, unsureColumns, openRows(file, dialect, limits, wasm.window))
  return { isWhole: false, faultyRows }
}

/**
 * Values with this many decimal places were computed. The value with the most digits is then rare, so a sample probably
 * misses it.
 */
const computedScale = 15

/**
 * True if the inferred type is probably too narrow. Samples show the maximum number of digits only if all values are
 * similar. A DECIMAL that grew from sample to sample, or that contains printed doubles, is probably too narrow.
 * Observing the whole column then costs half as much as a failed pass.
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
  for (const resumeColumn of resume) resumeColumn()
}

/** Observes the records that start after the slice's first line break and end within the slice. */
function observeSlice({ run, window }: WasmScanner, file: TextSource, position: number, length: number): void {
  const end = file.read(window, 0, length, position)
  for (let from = afterLineEnd(window, 0, end, false); from >= 0 && from < end; ) {
    const stopReason = run.scan(window.byteOffset + from, window.byteOffset + end, OBSERVE)
    if (stopReason !== ODD_RECORD) return
    from = afterLineEnd(window, run.stoppedAt.value - window.byteOffset, end, false)
  }
}
