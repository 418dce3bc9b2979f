import { isUtf8 } from 'node:buffer'
import { SourceProblem } from '@sluice/row-stream'
import type { ByteSource } from '../spool/byte-source.ts'
import { wasmJson } from './wasm-json-scanner.ts'

/**
 * The part of a text that is in memory: the bytes between `from` and `end`, in the memory of the WebAssembly scanner.
 * The reader moves `from` forward, and `grow` reads more bytes. All windows share the same memory, so a window must be
 * disposed before the next one is created.
 */
export class ByteWindow implements AsyncDisposable {
  readonly bytes: Buffer = wasmJson.window
  from = 0
  end = 0
  /** True if the text ends at `end`. */
  complete = false
  /** True if the bytes between `from` and `end` are known to be valid UTF-8. */
  isValidUtf8 = true
  readonly #chunks: AsyncIterator<Buffer>
  readonly #countsLines: boolean
  /** The number of bytes and of line ends before the window. */
  #bytesBefore = 0
  #linesBefore = 0

  /** Creates a window. With `countsLines: false`, the reader counts the lines itself and does not call `locate`. */
  constructor(source: ByteSource, { countsLines = true } = {}) {
    this.#chunks = source.chunks()[Symbol.asyncIterator]()
    this.#countsLines = countsLines
  }

  /**
   * Removes the bytes before `from`, and reads until the window has twice as many bytes as the rest. Doubling limits
   * how often a long record is scanned. Returns false at the end of the text.
   */
  async grow(): Promise<boolean> {
    if (this.complete) return false
    this.#removeReadBytes()
    const neededBytes = Math.max(1, this.end * 2)
    while (this.end < neededBytes) {
      const { done, value } = await this.#chunks.next()
      if (done) {
        this.complete = true
        break
      }
      this.#append(value)
    }
    this.isValidUtf8 = isUtf8(this.bytes.subarray(0, this.#endOfWholeCharacters()))
    return true
  }

  /** Converts a position in the window to a line and byte of the text, both counted from 1. */
  locate(position: number): { line: number; byte: number } {
    return { line: this.#linesBefore + countLines(position) + 1, byte: this.#bytesBefore + position + 1 }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.()
  }

  #removeReadBytes(): void {
    if (this.#countsLines) this.#linesBefore += countLines(this.from)
    this.#bytesBefore += this.from
    this.bytes.copyWithin(0, this.from, this.end)
    this.end -= this.from
    this.from = 0
  }

  #append(chunk: Buffer): void {
    const length = this.end + chunk.length
    if (length > this.bytes.length) throw new Error(`${length} bytes are more than the window of the JSON scanner`)
    chunk.copy(this.bytes, this.end)
    this.end = length
    wasmJson.usedBytes = Math.max(wasmJson.usedBytes, length)
  }

  /** Returns the end of the window, or the start of its last UTF-8 character if that may be incomplete. */
  #endOfWholeCharacters(): number {
    if (this.complete) return this.end
    for (let distance = 1; distance <= 3 && distance <= this.end; distance++) {
      const byte = this.bytes[this.end - distance]!
      const isAscii = byte < 0x80
      const isFirstByte = byte >= 0xc0
      if (isAscii) return this.end
      if (isFirstByte) return this.end - distance
    }
    return this.end
  }
}

const { run } = wasmJson

/** Counts the line feeds before a position in the window. */
const countLines = (to: number): number => run.countLines(run.IN.value, run.IN.value + to)

interface JsonPosition {
  line: number
  byte: number
}

export const invalidJsonProblem = (name: string, fault: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem('JSON_BROKEN', `${name} is not valid JSON: ${fault} (line ${line}, byte ${byte} of the text).`)

export const truncatedJsonProblem = (name: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'JSON_BROKEN',
    `${name} ends in the middle of a value (line ${line}, byte ${byte} of the text). Upload the complete file.`,
  )

export const longValueProblem = (name: string, bytes: number, { line }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'RECORD_TOO_LONG',
    `${name} has a value in line ${line} that is longer than ${formatBytes(bytes)}; the objects of an array are read one by one, each up to that length.`,
  )

export const formatBytes = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${Math.floor(bytes / 1024 / 1024)} MB` : `${bytes} bytes`
