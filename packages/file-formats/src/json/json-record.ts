import { isUtf8 } from 'node:buffer'
import type { ByteWindow } from './byte-window.ts'
import type { JsonColumns } from './json-columns.ts'
import { positionOf } from './json-scanner.ts'
import type { RowOutput } from '../spool/rejects-file.ts'
import type { SpoolWriter } from '../spool/spool-writer.ts'
import { wasmJson } from './wasm-json.ts'

/** Bits of `unstorableFlags`, as in assembly/json/scan-value.ts. */
const HAS_NUL = 2
const HAS_LONE_SURROGATE = 4

/** Results of `writeRow`. `writeLines` also returns BATCH_IS_FULL. */
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
    return positionOf(run.readObject(windowStart + from, windowStart + end))
  }

  /**
   * Returns the reason why the last read object cannot be stored although it is valid JSON, and the key of the value.
   */
  unfit(): { reason: string; column: string } {
    const marks = run.unstorableFlags.value
    const reason =
      marks & HAS_NUL
        ? 'holds the character U+0000, which no text column can store'
        : marks & HAS_LONE_SURROGATE
          ? 'holds half a surrogate pair, which is not a character'
          : 'holds a number that is too long or too large for JSONB'
    return { reason, column: this.columns.labels[run.unstorableColumn.value]! }
  }

  /** Writes the last read object, which has `length` bytes. Returns false if it cannot be stored. */
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

/** True if a record is valid UTF-8. Called only if the bytes around it are not known to be. */
const isUtf8Range = (bytes: Buffer, from: number, to: number): boolean => isUtf8(bytes.subarray(from, to))

/**
 * One pass over the objects of a text. Writes a line per object until an object has a key that the header lacks. From
 * then on, it only collects keys, and `late` requests another pass.
 */
export class JsonPass {
  readonly record: JsonRecord
  late = false
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

  get writes(): boolean {
    return this.#output !== undefined && !this.late
  }

  /** Processes the last read object, which is between two positions of the window. */
  take(window: ByteWindow, from: number, to: number, line: () => number): void {
    const { record } = this
    this.rows++
    if (record.columns.labels.length > this.#width) this.late = true
    if (!this.writes) return
    if (!window.clean && !isUtf8Range(window.bytes, from, to)) {
      this.reject(window, from, to, line(), 'is not valid UTF-8; save the file as UTF-8')
    } else if (record.write(this.#output!.writer, to - from)) this.written++
    else {
      const { reason, column } = record.unfit()
      this.reject(window, from, to, line(), reason, column)
    }
  }

  /**
   * Takes the regular lines at the start of the window: each has one object of up to `recordBytes` bytes, or is blank. Most texts have only
   * such lines, and a call for each of them would take half as long as scanning it. Returns their number.
   */
  takeRegularLines(window: ByteWindow, recordBytes: number): number {
    if (!this.writes || !window.clean) return 0
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

  reject(window: ByteWindow, from: number, to: number, line: number, reason: string, column?: string): void {
    if (this.writes)
      this.#output!.rejects.add(line, reason, window.bytes.subarray(from, Math.min(to, from + 8192)), column)
  }
}
