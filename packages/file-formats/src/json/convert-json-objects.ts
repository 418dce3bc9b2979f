import { isUtf8 } from 'node:buffer'
import type { ByteWindow } from './byte-window.ts'
import type { JsonColumns } from './json-columns.ts'
import { toWindowPosition } from './json-scanner.ts'
import type { RowOutput } from '../spool/rejected-rows-file.ts'
import type { SpoolWriter } from '../spool/spool-writer.ts'
import { wasmJson } from './wasm-json-scanner.ts'

/** Bits of `unstorableFlags`, which assembly/json/scan-value.ts explains. */
const HAS_NUL = 2
const HAS_LONE_SURROGATE = 4

/** Results of `writeRow`, as in assembly/json/write-row.ts. `writeLines` also returns BATCH_IS_FULL. */
const WRITTEN = 0
const BATCH_IS_FULL = 1

const { run, out } = wasmJson
const windowStart = run.IN.value

/** Reads JSON objects in the window of the WebAssembly scanner, and writes them as lines of delimited text. */
class JsonRecord {
  readonly columns: JsonColumns

  constructor(columns: JsonColumns) {
    this.columns = columns
    run.clearOutput()
  }

  /**
   * Reads the object that starts at `from`. Returns the position after it, NEEDS_MORE or INVALID_JSON. Of duplicate
   * keys, the last value counts.
   */
  read(from: number, end: number): number {
    return toWindowPosition(run.readObject(windowStart + from, windowStart + end))
  }

  /** Returns the key of the value because of which the last read object cannot be stored, and the reason. */
  describeUnstorableValue(): { reason: string; column: string } {
    return {
      reason: describeUnstorable(run.unstorableFlags.value),
      column: this.columns.labels[run.unstorableColumn.value]!,
    }
  }

  /** Writes the last read object, which has `length` bytes, as a line. Returns false if a value cannot be stored. */
  write(writer: SpoolWriter, length: number): boolean {
    let outcome = run.writeRow(length)
    if (outcome === BATCH_IS_FULL) {
      this.flush(writer)
      outcome = run.writeRow(length)
    }
    return outcome === WRITTEN
  }

  /** Moves the written lines to the spool file (temporary file). */
  flush(writer: SpoolWriter): void {
    writer.put(out.subarray(0, run.outEnd.value - run.OUT.value))
    run.clearOutput()
  }
}

function describeUnstorable(flags: number): string {
  if (flags & HAS_NUL) return 'holds the character U+0000, which no text column can store'
  if (flags & HAS_LONE_SURROGATE) return 'holds half a surrogate pair, which is not a character'
  return 'holds a number that is too long or too large for JSONB'
}

/** The maximum bytes of a rejected record that are stored with the rejection. */
const maxRawBytes = 8192

/**
 * One pass over the objects of a text. Writes a line for each object until an object has a key that the header lacks.
 * From then on, only collects keys, and `needsAnotherPass` is true.
 */
export class JsonPass {
  readonly record: JsonRecord
  needsAnotherPass = false
  /** The number of objects, and of those that were written as lines. */
  rows = 0
  written = 0
  readonly #output: RowOutput | undefined
  readonly #width: number

  /** Creates a pass. Without `output`, it only collects keys. */
  constructor(columns: JsonColumns, output?: RowOutput) {
    this.record = new JsonRecord(columns)
    this.#output = output
    this.#width = columns.labels.length
  }

  get isWriting(): boolean {
    return this.#output !== undefined && !this.needsAnotherPass
  }

  /**
   * Processes the last read object, which is between two positions of the window. `findLine` returns its line; it is
   * called only if the object is rejected.
   */
  processObject(window: ByteWindow, from: number, to: number, findLine: () => number): void {
    const { record } = this
    this.rows++
    const hasNewKey = record.columns.labels.length > this.#width
    if (hasNewKey) this.needsAnotherPass = true
    if (!this.isWriting) return
    if (!window.isValidUtf8 && !isUtf8(window.bytes.subarray(from, to))) {
      this.reject(window, from, to, findLine(), 'is not valid UTF-8; save the file as UTF-8')
      return
    }
    if (record.write(this.#output!.writer, to - from)) {
      this.written++
      return
    }
    const { reason, column } = record.describeUnstorableValue()
    this.reject(window, from, to, findLine(), reason, column)
  }

  /**
   * Processes the regular lines at the start of the window: each is blank or has one object of up to `recordBytes`
   * bytes. Most texts have only such lines, and a call of the scanner for each line would take half as long as scanning
   * it. Returns the number of lines.
   */
  processRegularLines(window: ByteWindow, recordBytes: number): number {
    if (!this.isWriting || !window.isValidUtf8) return 0
    let lines = 0
    for (;;) {
      const outcome = run.writeLines(windowStart + window.from, windowStart + window.end, recordBytes)
      window.from = run.stoppedAt.value - windowStart
      lines += run.processedLines.value
      this.rows += run.writtenRows.value
      this.written += run.writtenRows.value
      if (outcome !== BATCH_IS_FULL) return lines
      this.record.flush(this.#output!.writer)
    }
  }

  /** Moves the written lines to the spool. Call it after the last object. */
  flush(): void {
    if (this.#output) this.record.flush(this.#output.writer)
  }

  /** Records a rejected row, unless the pass only collects keys. */
  reject(window: ByteWindow, from: number, to: number, line: number, reason: string, column?: string): void {
    if (!this.isWriting) return
    const raw = window.bytes.subarray(from, Math.min(to, from + maxRawBytes))
    this.#output!.rejects.add(line, reason, raw, column)
  }
}
