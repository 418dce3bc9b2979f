import type { TupleChunk } from '@sluice/row-stream'

/**
 * The source of an output field: the index of an input field, constant bytes (null for NULL), or the row number from 1.
 */
export type FieldSource = number | Uint8Array | null | 'ROW_NUMBER'

/**
 * A part of an output row: a range of consecutive input fields, constant bytes with their length prefix, or the row
 * number.
 */
type TuplePiece = { from: number; to: number } | { bytes: Uint8Array } | { number: true }

const usualBytes = 256 * 1024
const numberBytes = 12

/**
 * Rearranges the fields of rows in binary COPY format to the columns of a table. The memory of a chunk is reused after
 * the caller releases it.
 */
export class TupleLayout {
  readonly #pieces: TuplePiece[]
  readonly #width: number
  /** The start of each field, including its length prefix, and the end of the row. */
  readonly #starts: Int32Array
  /** The bytes by which every row grows, for fields that the input row lacks. */
  readonly #added: number
  readonly #free: Buffer[] = []
  #rows = 0

  /** Creates a layout for input rows with `fields` fields. */
  constructor(sources: readonly FieldSource[], inputFieldCount: number) {
    this.#pieces = createPieces(sources)
    this.#width = sources.length
    this.#starts = new Int32Array(inputFieldCount + 1)
    this.#added = this.#pieces.reduce((sum, piece) => sum + getAddedBytes(piece), 2)
  }

  /** The number of rows until now. */
  get rows(): number {
    return this.#rows
  }

  lay({ bytes, release }: TupleChunk): TupleChunk {
    let target = this.#free.pop() ?? Buffer.allocUnsafeSlow(usualBytes)
    const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const starts = this.#starts
    const fields = starts.length - 1
    let targetLength = 0
    for (let position = 0; position < source.length; ) {
      const recordStart = position
      position += 2
      for (let field = 0; field < fields; field++) {
        starts[field] = position
        position += 4 + Math.max(0, source.readInt32BE(position))
      }
      starts[fields] = position
      // An output row contains each input field at most once, so it grows by at most the added bytes.
      const maxBytes = position - recordStart + this.#added
      if (target.length - targetLength < maxBytes) target = growBuffer(target, targetLength, maxBytes)
      this.#rows += 1
      targetLength = this.#put(source, target, targetLength)
    }
    release?.()
    return { bytes: target.subarray(0, targetLength), release: () => void this.#free.push(target) }
  }

  #put(source: Buffer, target: Buffer, position: number): number {
    let targetPosition = target.writeInt16BE(this.#width, position)
    for (const piece of this.#pieces) {
      if ('from' in piece)
        targetPosition += source.copy(target, targetPosition, this.#starts[piece.from], this.#starts[piece.to])
      else if ('bytes' in piece) {
        target.set(piece.bytes, targetPosition)
        targetPosition += piece.bytes.length
      } else {
        targetPosition = target.writeInt32BE(8, targetPosition)
        targetPosition = target.writeUInt32BE(Math.floor(this.#rows / 2 ** 32), targetPosition)
        targetPosition = target.writeUInt32BE(this.#rows % 2 ** 32, targetPosition)
      }
    }
    return targetPosition
  }
}

function createPieces(sources: readonly FieldSource[]): TuplePiece[] {
  const pieces: TuplePiece[] = []
  for (const fieldSource of sources) {
    const lastPiece = pieces.at(-1)
    if (fieldSource === 'ROW_NUMBER') pieces.push({ number: true })
    else if (typeof fieldSource !== 'number') pieces.push({ bytes: encodeField(fieldSource) })
    else if (lastPiece && 'to' in lastPiece && lastPiece.to === fieldSource) lastPiece.to = fieldSource + 1
    else pieces.push({ from: fieldSource, to: fieldSource + 1 })
  }
  return pieces
}

export function encodeField(bytes: Uint8Array | null): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes ? bytes.length : -1)
  return bytes ? Buffer.concat([length, bytes]) : length
}

function getAddedBytes(piece: TuplePiece): number {
  if ('bytes' in piece) return piece.bytes.length
  return 'number' in piece ? numberBytes : 0
}

function growBuffer(fullBuffer: Buffer, usedBytes: number, neededBytes: number): Buffer {
  const next = Buffer.allocUnsafeSlow(Math.max(fullBuffer.length * 2, usedBytes + neededBytes))
  fullBuffer.copy(next, 0, 0, usedBytes)
  return next
}
