import type { RowOutput } from '../spool/output.ts'
import type { ByteWindow } from './byte-window.ts'
import type { JsonColumns } from './json-columns.ts'
import { isText, JsonRecord } from './json-record.ts'

/**
 * One pass over the objects of a text. It writes a line for each object until an object has a key that the header lacks.
 * From then on it only collects keys, and `late` says that another pass is necessary.
 */
export class JsonPass {
  readonly record: JsonRecord
  late = false
  rows = 0
  written = 0
  readonly #output: RowOutput | undefined
  readonly #width: number

  /** If `output` is absent, the pass only collects keys. */
  constructor(columns: JsonColumns, output?: RowOutput) {
    this.record = new JsonRecord(columns)
    this.#output = output
    this.#width = columns.labels.length
  }

  get writes(): boolean {
    return this.#output !== undefined && !this.late
  }

  /** Takes the object that was read last, which lies between two positions of the window. */
  take(window: ByteWindow, from: number, to: number, line: () => number): void {
    const { record } = this
    this.rows++
    if (record.columns.labels.length > this.#width) this.late = true
    if (!this.writes) return
    if (!window.clean && !isText(window.bytes, from, to)) {
      this.reject(window, from, to, line(), 'is not valid UTF-8; save the file as UTF-8')
    } else if (record.unfit) {
      const { reason, column } = record.unfit
      this.reject(window, from, to, line(), reason, column)
    } else {
      record.write(window.bytes, this.#output!.writer, to - from)
      this.written++
    }
  }

  reject(window: ByteWindow, from: number, to: number, line: number, reason: string, column?: string): void {
    if (this.writes)
      this.#output!.rejects.add(line, reason, window.bytes.subarray(from, Math.min(to, from + 8192)), column)
  }
}
