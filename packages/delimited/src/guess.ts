import { afterLineEnd } from './scan.ts'
import { isPlain } from './field-places.ts'
import type { Dialect } from './dialect/dialect.ts'
import type { Limits } from './limits.ts'
import { type Machine, OBSERVE, ODD_RECORD } from './machine.ts'
import { Pass } from './pass.ts'
import type { Rows } from './rows.ts'
import type { TextSource } from './text-file.ts'

/**
 * Lets the machine see enough of a file to guess its types: all of a short one, else the start, the end and slices in between.
 * A slice begins somewhere in a record, perhaps inside quotes: what makes no sense there is stepped over by the line, and
 * what is misread only makes the guess worse.
 */
export function lookAtSamples(machine: Machine, file: TextSource, dialect: Dialect, rows: Rows, limits: Limits): void {
  const { from, end } = dialect
  const whole = file.size <= limits.wholeBytes
  new Pass(machine, rows).observe(whole ? Infinity : from + limits.sampleBytes)
  if (whole || file.encoding !== 'UTF-8' || !isPlain(dialect)) return
  const { sampleBytes, slices, sliceBytes } = limits
  const first = from + sampleBytes
  const last = Math.max(end - sampleBytes, first)
  if (first >= end) return
  for (let slice = 0; slice < slices; slice++) {
    const position = Math.floor(first + ((last - first) * slice) / slices)
    lookAtSlice(machine, file, position, Math.min(sliceBytes, last - position))
  }
  lookAtSlice(machine, file, last, end - last)
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
