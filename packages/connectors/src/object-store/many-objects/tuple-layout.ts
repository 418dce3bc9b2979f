import type { TupleChunk } from '@sluice/row-stream'

/**
 * The source of an output field: the index of an input field, constant bytes (null for NULL), or the row number from 1.
 */
export type FieldSource = number | Uint8Array | null | 'ROW_NUMBER'

/**
 * Consecutive fields of an output row: a range of input fields, constant bytes with their length prefix, or the row
 * number.
 */
type OutputPart = { from: number; to: number } | { bytes: Uint8Array } | { isRowNumber: true }

const initialChunkBytes = 256 * 1024
/** The number of bytes of a row's field count. */
const fieldCountBytes = 2
/** The number of bytes of a field's length prefix. */
export const lengthBytes = 4
/** The number of bytes of a row number with its length prefix. */
const rowNumberBytes = lengthBytes + 8

/**
 * Rearranges the fields of rows in binary COPY format to the columns of a table. The memory of a chunk is reused after
 * the caller releases it.
 */
export class TupleLayout {
  readonly #parts: OutputPart[]
  readonly #outputFieldCount: number
  /** The start of each field of the current input row, including its length prefix, and the end of the row. */
  readonly #starts: Int32Array
  /** The bytes by which a row can grow, for fields that the input row lacks. */
  readonly #maxAddedBytes: number
  readonly #freeBuffers: Buffer[] = []
  #rows = 0

  constructor(sources: readonly FieldSource[], inputFieldCount: number) {
    this.#parts = createOutputParts(sources)
    this.#outputFieldCount = sources.length
    this.#starts = new Int32Array(inputFieldCount + 1)
    this.#maxAddedBytes = this.#parts.reduce((sum, part) => sum + getAddedBytes(part), fieldCountBytes)
  }

  /** The number of rows until now. */
  get rows(): number {
    return this.#rows
  }

  /** Returns the rows of a chunk with the fields of the output, and releases the chunk. */
  rearrange({ bytes, release }: TupleChunk): TupleChunk {
    let target = this.#freeBuffers.pop() ?? Buffer.allocUnsafeSlow(initialChunkBytes)
    const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const starts = this.#starts
    const inputFieldCount = starts.length - 1
    let targetLength = 0
    for (let position = 0; position < source.length; ) {
      const rowStart = position
      position += fieldCountBytes
      for (let field = 0; field < inputFieldCount; field++) {
        starts[field] = position
        // The length is -1 for NULL.
        position += lengthBytes + Math.max(0, source.readInt32BE(position))
      }
      starts[inputFieldCount] = position
      // An output row contains each input field at most once, so it grows by at most the added bytes.
      const maxBytes = position - rowStart + this.#maxAddedBytes
      if (target.length - targetLength < maxBytes) target = growBuffer(target, targetLength, maxBytes)
      this.#rows += 1
      targetLength = this.#writeRow(source, target, targetLength)
    }
    release?.()
    return { bytes: target.subarray(0, targetLength), release: () => void this.#freeBuffers.push(target) }
  }

  /** Writes the current row. Returns the position after it. */
  #writeRow(source: Buffer, target: Buffer, position: number): number {
    let targetPosition = target.writeInt16BE(this.#outputFieldCount, position)
    for (const part of this.#parts) {
      if ('from' in part)
        targetPosition += source.copy(target, targetPosition, this.#starts[part.from], this.#starts[part.to])
      else if ('bytes' in part) {
        target.set(part.bytes, targetPosition)
        targetPosition += part.bytes.length
      } else {
        // A 64-bit integer: its length, then its upper and lower 32 bits.
        targetPosition = target.writeInt32BE(8, targetPosition)
        targetPosition = target.writeUInt32BE(Math.floor(this.#rows / 2 ** 32), targetPosition)
        targetPosition = target.writeUInt32BE(this.#rows % 2 ** 32, targetPosition)
      }
    }
    return targetPosition
  }
}

/** Returns the parts of an output row. Joins consecutive input fields, so that they are copied at once. */
function createOutputParts(sources: readonly FieldSource[]): OutputPart[] {
  const parts: OutputPart[] = []
  for (const source of sources) {
    if (source === 'ROW_NUMBER') {
      parts.push({ isRowNumber: true })
      continue
    }
    if (typeof source !== 'number') {
      parts.push({ bytes: encodeField(source) })
      continue
    }
    const lastPart = parts.at(-1)
    const lastRange = lastPart && 'to' in lastPart ? lastPart : undefined
    const continuesLastRange = lastRange?.to === source
    if (continuesLastRange) lastRange.to = source + 1
    else parts.push({ from: source, to: source + 1 })
  }
  return parts
}

/** Encodes a field in binary COPY format: its length, then its bytes. The length is -1 for NULL. */
export function encodeField(bytes: Uint8Array | null): Buffer {
  const length = Buffer.alloc(lengthBytes)
  length.writeInt32BE(bytes ? bytes.length : -1)
  return bytes ? Buffer.concat([length, bytes]) : length
}

/** Returns the bytes that a part adds to a row, apart from input fields. */
function getAddedBytes(part: OutputPart): number {
  if ('bytes' in part) return part.bytes.length
  return 'isRowNumber' in part ? rowNumberBytes : 0
}

function growBuffer(fullBuffer: Buffer, usedBytes: number, neededBytes: number): Buffer {
  const largerBuffer = Buffer.allocUnsafeSlow(Math.max(fullBuffer.length * 2, usedBytes + neededBytes))
  fullBuffer.copy(largerBuffer, 0, 0, usedBytes)
  return largerBuffer
}
