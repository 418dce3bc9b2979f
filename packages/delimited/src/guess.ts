import { afterLineEnd } from './scan.ts'
import { isPlain } from './field-places.ts'
import { closeColumn, seenType } from './column-state.ts'
import { type ColumnType, isSameType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import type { Limits } from './limits.ts'
import { type Machine, OBSERVE, ODD_RECORD } from './machine.ts'
import { Pass } from './pass.ts'
import { type Rows, rowsOf } from './rows.ts'
import type { TextSource } from './text-file.ts'

/**
 * Lets the machine see enough of a file to guess its types: all of a short one, else the start, the end and slices in between.
 * A slice begins somewhere in a record, perhaps inside quotes: what makes no sense there is stepped over by the line, and
 * what is misread only makes the guess worse. Returns whether all rows were seen.
 */
export function lookAtSamples(
  machine: Machine,
  file: TextSource,
  dialect: Dialect,
  rows: Rows,
  limits: Limits,
): boolean {
  const { from, end } = dialect
  const whole = file.size <= limits.wholeBytes
  new Pass(machine, rows).observe(whole ? Infinity : from + limits.sampleBytes)
  const atFirst = dialect.labels.map((_, column) => seenType(machine, column))
  if (whole || file.encoding !== 'UTF-8' || !isPlain(dialect)) return whole
  const { sampleBytes, slices, sliceBytes } = limits
  const first = from + sampleBytes
  const last = Math.max(end - sampleBytes, first)
  if (first >= end) return true
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(first + ((last - first) * slice) / slices)
    lookAtSlice(machine, file, position, Math.min(sliceBytes, last - position))
  }
  lookAtSlice(machine, file, last, end - last)
  const unsure = atFirst.flatMap((type, column) => (isUnsure(type, seenType(machine, column)) ? [column] : []))
  if (unsure.length > 0) lookAtAll(machine, unsure, rowsOf(file, dialect, limits, machine.window))
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
function lookAtAll(machine: Machine, columns: readonly number[], rows: Rows): void {
  const others = Array.from({ length: rows.shape.labels.length }, (_, column) => column).filter(
    (column) => !columns.includes(column),
  )
  const resume = others.map((column) => closeColumn(machine, column))
  new Pass(machine, rows).observe(Infinity)
  for (const open of resume) open()
}

/** What begins behind the first line end, as far as it ends in the slice. */
function lookAtSlice({ run, window }: Machine, file: TextSource, position: number, length: number): void {
  const end = file.read(window, 0, length, position)
  for (let from = afterLineEnd(window, 0, end, false); from >= 0 && from < end; ) {
    const why = run.scan(window.byteOffset + from, window.byteOffset + end, OBSERVE)
    if (why !== ODD_RECORD) return
    from = afterLineEnd(window, run.stoppedAt.value - window.byteOffset, end, false)
  }
}
