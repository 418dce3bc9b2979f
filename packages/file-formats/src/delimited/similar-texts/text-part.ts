import type { DelimitedDialect } from '../dialect/dialect.ts'
import type { TextSource } from '../text-file.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** One of several texts in a file: the bytes from `from` to `to`. */
export interface TextSegment {
  /** The text's name in messages. */
  name: string
  from: number
  to: number
}

/** The rows of one text in a file: bytes `from` to `end`. `line` is the line number of the first row. */
export interface TextPart extends Pick<DelimitedDialect, 'from' | 'line' | 'end'> {
  /** A prefix for the reasons of its rejected rows. */
  name?: string
  /** Fields that are appended to each of its rows. */
  suffix?: RowSuffix
}

/** Fields that the scanner appends to every row, encoded as in binary COPY. One of them is the row number, from 1. */
export interface RowSuffix {
  /** The number of fields in `bytes`. */
  fields: number
  bytes: Uint8Array
  /** The position of the row number, a BIGINT, in `bytes`. */
  rowNumberAt: number
}

/**
 * Sets the fields that the scanner appends to the following rows. If `suffix` is undefined, the rows have only the
 * fields of their records.
 */
export function setRowSuffix({ run, bytes }: WasmScanner, suffix: RowSuffix | undefined): void {
  if (!suffix) return run.setSuffix(0, 0, 0)
  if (suffix.bytes.length > run.SUFFIX_BYTES.value) throw new Error('The fields at the end of a row are too long')
  bytes.set(suffix.bytes, run.SUFFIX.value)
  run.setSuffix(suffix.fields, suffix.bytes.length, suffix.rowNumberAt)
}

const byteOrderMark = Buffer.from('\ufeff')

/** One of several texts in a file, with positions counted from the text's start. */
export class SegmentText implements TextSource {
  readonly name: string
  readonly size: number
  readonly skip: number
  readonly #file: TextSource
  readonly #from: number

  constructor(file: TextSource, { name, from, to }: TextSegment) {
    this.name = name
    this.size = to - from
    this.#file = file
    this.#from = from
    const start = Buffer.alloc(byteOrderMark.length)
    this.read(start, 0, start.length, 0)
    this.skip = start.equals(byteOrderMark) ? byteOrderMark.length : 0
  }

  read(target: Uint8Array, filePosition: number, length: number, position: number): number {
    const bytes = Math.min(length, this.size - position)
    return bytes <= 0 ? 0 : this.#file.read(target, filePosition, bytes, this.#from + position)
  }

  assertUnchanged(): void {
    this.#file.assertUnchanged()
  }
}
