import type { DelimitedDialect } from './dialect/dialect.ts'
import type { RowSuffix } from './row-suffix.ts'
import type { TextSource } from './text-file.ts'

/** One of several texts in a file: its bytes from `from` to `to`. */
export interface TextSegment {
  /** The name for messages. */
  name: string
  from: number
  to: number
}

/** A part of a file: its rows from byte `from` to `end`, of which the first is in line `line`. */
export interface TextPart extends Pick<DelimitedDialect, 'from' | 'line' | 'end'> {
  /** The start of the reasons of its rejected rows. */
  name?: string
  /** Fields that are added to its rows. */
  suffix?: RowSuffix
}

const byteOrderMark = Buffer.from('\ufeff')

/** A text in a file of several, with positions from its own start. */
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
