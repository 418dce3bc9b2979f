import { isUtf8 } from 'node:buffer'
import { SourceProblem } from '@sluice/row-stream'
import type { ByteSource } from '../spool/byte-source.ts'
import { wasmJson } from './wasm-json.ts'

/**
 * The part of a stream that the current read needs, in the memory of the WebAssembly scanner. Growing discards the
 * bytes before `from`. Dispose of a window before you create the next one, because they share that memory.
 */
export class ByteWindow implements AsyncDisposable {
  readonly bytes: Buffer = wasmJson.window
  from = 0
  end = 0
  /** True if the stream ends at `end`. */
  complete = false
  /** True if the bytes between `from` and `end` are known to be valid UTF-8. */
  clean = true
  readonly #chunks: AsyncIterator<Buffer>
  readonly #countsLines: boolean
  #forgotten = 0
  #lines = 0

  /** Creates a window. If the reader counts the lines itself, `countsLines` is false, and `place` must not be called. */
  constructor(source: ByteSource, { countsLines = true } = {}) {
    this.#chunks = source.chunks()[Symbol.asyncIterator]()
    this.#countsLines = countsLines
  }

  /**
   * Reads until the window contains twice as many bytes, so that a long record is not scanned too often. Returns false
   * at the end of the stream.
   */
  async grow(): Promise<boolean> {
    if (this.complete) return false
    this.#forget()
    const neededBytes = Math.max(1, this.end * 2)
    while (this.end < neededBytes) {
      const { done, value } = await this.#chunks.next()
      if (done) {
        this.complete = true
        break
      }
      this.#append(value)
    }
    this.clean = isUtf8(this.bytes.subarray(0, this.#wholeCharacters()))
    return true
  }

  /** Returns the position in the stream for a position in the window. Lines and bytes are counted from 1. */
  place(position: number): { line: number; byte: number } {
    return { line: this.#lines + countLines(position) + 1, byte: this.#forgotten + position + 1 }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.()
  }

  #forget(): void {
    if (this.#countsLines) this.#lines += countLines(this.from)
    this.#forgotten += this.from
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

  /** Returns the end of the window, moved back if it would cut a UTF-8 character. */
  #wholeCharacters(): number {
    if (this.complete) return this.end
    for (let back = 1; back <= 3 && back <= this.end; back++) {
      const byte = this.bytes[this.end - back]!
      if (byte < 0x80) return this.end
      if (byte >= 0xc0) return this.end - back
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

export const brokenJson = (name: string, fault: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem('JSON_BROKEN', `${name} is not valid JSON: ${fault} (line ${line}, byte ${byte} of the text).`)

export const endsTooEarly = (name: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'JSON_BROKEN',
    `${name} ends in the middle of a value (line ${line}, byte ${byte} of the text). Upload the complete file.`,
  )

export const tooLong = (name: string, bytes: number, { line }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'RECORD_TOO_LONG',
    `${name} has a value in line ${line} that is longer than ${formatBytes(bytes)}; the objects of an array are read one by one, each up to that length.`,
  )

export const formatBytes = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${Math.floor(bytes / 1024 / 1024)} MB` : `${bytes} bytes`
