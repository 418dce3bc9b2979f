import { isUtf8 } from 'node:buffer'
import { checkJson, UnstorableValue } from '@sluice/row-stream'
import type { Encoding } from 'hyparquet'
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js'
import { readVarInt } from 'hyparquet/src/thrift.js'
import { HybridReader } from './rle-hybrid.ts'
import type { LeafType } from './schema.ts'

/** The values of a page or dictionary, in one of two layouts. The layout does not depend on their Parquet encoding. */
export type DecodedValues = FixedValues | ByteValues

/** Values of fixed width as in PLAIN encoding: little-endian and consecutive. A boolean takes one byte. */
export interface FixedValues {
  count: number
  bytes: Uint8Array
  view: DataView
}

export interface ByteValues {
  count: number
  bytes: Uint8Array
  starts: Uint32Array
  lengths: Uint32Array
  /** Reasons why values cannot be stored, by index. */
  faults?: Map<number, string>
}

/** Thrown if a value of a `text-or-hex` column is not valid text. */
export class NotTextError extends Error {
  override readonly name = 'NotTextError'
}

/** Buffers up to this size may share memory with others, because Node allocates small buffers from a pool. */
const maxPooledBytes = 64 * 1024

const physicalTypeWidths = { BOOLEAN: 1, INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8 } as const

/**
 * Decodes the body of a page, at most `maxValues` values. `maxOutputBytes` limits the output of DELTA_BYTE_ARRAY; its
 * values may become much longer than the body. Throws for invalid bytes.
 */
export function decodeValues(
  body: Uint8Array,
  encoding: Encoding,
  maxValues: number,
  type: LeafType,
  maxOutputBytes: number,
): DecodedValues {
  const { physical } = type
  if (physical === 'BYTE_ARRAY') return addTextFaults(decodeByteArrays(body, encoding, maxValues, maxOutputBytes), type)
  if (physical === 'BOOLEAN') return decodeFixed(decodeBooleans(body, encoding, maxValues), 1)
  const width = physical === 'FIXED_LEN_BYTE_ARRAY' ? type.width : physicalTypeWidths[physical]
  switch (encoding) {
    case 'PLAIN':
      return decodeFixed(body, width)
    case 'BYTE_STREAM_SPLIT':
      return decodeFixed(decodeByteStreamSplit(body, width), width)
    case 'DELTA_BINARY_PACKED':
      if (physical === 'INT32')
        return decodeFixed(toBytes(decodeDeltas(body, maxValues, (count) => new Int32Array(count)).values), width)
      if (physical === 'INT64')
        return decodeFixed(toBytes(decodeDeltas(body, maxValues, (count) => new BigInt64Array(count)).values), width)
      break
    case 'DELTA_BYTE_ARRAY':
      if (physical === 'FIXED_LEN_BYTE_ARRAY') {
        const { bytes, lengths } = decodeDeltaByteArrays(body, maxValues, maxOutputBytes)
        if (lengths.some((length) => length !== width))
          throw new RangeError('a value has another width than its column')
        return decodeFixed(bytes, width)
      }
  }
  throw new RangeError(`values of ${physical} in encoding ${encoding}`)
}

function decodeFixed(bytes: Uint8Array, width: number): FixedValues {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { count: Math.floor(bytes.length / width), bytes, view }
}

const toBytes = ({ buffer, byteOffset, byteLength }: Int32Array | BigInt64Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The bytes before RLE values, with their length in bytes. */
const rleLengthBytes = 4

/** Decodes booleans to bytes that are 0 or 1: at most `maxValues`, or as many as the body has. */
function decodeBooleans(body: Uint8Array, encoding: Encoding, maxValues: number): Uint8Array {
  if (encoding === 'RLE') {
    const values = new Uint8Array(maxValues)
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
    const end = rleLengthBytes + view.getUint32(0, true)
    const bitsPerValue = 1
    new HybridReader(body, rleLengthBytes, end, bitsPerValue).read(values, maxValues)
    return values
  }
  if (encoding !== 'PLAIN') throw new RangeError(`booleans in encoding ${encoding}`)
  const values = new Uint8Array(Math.min(maxValues, body.length * 8))
  for (let i = 0; i < values.length; i++) {
    const byte = body[i >> 3]!
    values[i] = (byte >> (i & 7)) & 1
  }
  return values
}

/** Decodes values that are stored as all first bytes, then all second bytes, and so on. */
function decodeByteStreamSplit(body: Uint8Array, width: number): Uint8Array {
  const count = Math.floor(body.length / width)
  const bytes = new Uint8Array(count * width)
  for (let stream = 0; stream < width; stream++) {
    for (let i = 0; i < count; i++) bytes[i * width + stream] = body[stream * count + i]!
  }
  return bytes
}

/** Decodes values of variable length, at most `maxValues`. Throws RangeError if the page is damaged. */
function decodeByteArrays(body: Uint8Array, encoding: Encoding, maxValues: number, maxOutputBytes: number): ByteValues {
  if (encoding === 'PLAIN') return decodePlainByteArrays(body, maxValues)
  if (encoding === 'DELTA_BYTE_ARRAY') return decodeDeltaByteArrays(body, maxValues, maxOutputBytes)
  if (encoding !== 'DELTA_LENGTH_BYTE_ARRAY') throw new RangeError(`values of BYTE_ARRAY in encoding ${encoding}`)
  const { values: lengths, end } = decodeDeltas(body, maxValues, (count) => new Int32Array(count))
  const starts = new Uint32Array(lengths.length)
  let position = end
  for (let i = 0; i < lengths.length; i++) {
    if (lengths[i]! < 0) throw new RangeError('a value of negative length')
    starts[i] = position
    position += lengths[i]!
  }
  if (position > body.length) throw new RangeError('a value ends outside its page')
  return { count: lengths.length, bytes: body, starts, lengths: new Uint32Array(lengths.buffer) }
}

/** Decodes values that are preceded by their length, a little-endian 32-bit integer. */
function decodePlainByteArrays(bytes: Uint8Array, maxValues: number): ByteValues {
  // Every value needs at least the four bytes of its length.
  const capacity = Math.min(maxValues, bytes.length >> 2)
  const starts = new Uint32Array(capacity)
  const lengths = new Uint32Array(capacity)
  let count = 0
  for (let position = 0; count < capacity && position + 4 <= bytes.length; count++) {
    const length =
      (bytes[position]! | (bytes[position + 1]! << 8) | (bytes[position + 2]! << 16) | (bytes[position + 3]! << 24)) >>>
      0
    position += 4
    starts[count] = position
    lengths[count] = length
    position += length
    if (position > bytes.length) throw new RangeError('a value ends outside its page')
  }
  return { count, bytes, starts, lengths }
}

/**
 * Decodes values of which only the suffix is stored: each begins with a prefix of the previous value. A few bytes may
 * expand to very many, so the lengths are summed up before any value is copied.
 */
function decodeDeltaByteArrays(body: Uint8Array, maxValues: number, maxOutputBytes: number): ByteValues {
  const prefixes = decodeDeltas(body, maxValues, (count) => new Int32Array(count))
  const suffixes = decodeDeltas(body.subarray(prefixes.end), maxValues, (count) => new Int32Array(count))
  const count = prefixes.values.length
  if (suffixes.values.length !== count) throw new RangeError('prefixes and suffixes do not match')
  const lengths = new Uint32Array(count)
  const starts = new Uint32Array(count)
  let outputBytes = 0
  for (let i = 0; i < count; i++) {
    const prefixLength = prefixes.values[i]!
    const suffixLength = suffixes.values[i]!
    if (prefixLength < 0 || suffixLength < 0 || prefixLength > (i === 0 ? 0 : lengths[i - 1]!))
      throw new RangeError('a prefix without end')
    starts[i] = outputBytes
    lengths[i] = prefixLength + suffixLength
    outputBytes += prefixLength + suffixLength
    if (outputBytes > maxOutputBytes) throw new RangeError(`values grow beyond ${maxOutputBytes} bytes`)
  }
  const bytes = new Uint8Array(outputBytes)
  // `suffixes.end` is counted from the end of the prefix lengths.
  let suffixPosition = prefixes.end + suffixes.end
  for (let i = 0; i < count; i++) {
    const prefixLength = prefixes.values[i]!
    const suffixLength = suffixes.values[i]!
    if (suffixPosition + suffixLength > body.length) throw new RangeError('a value ends outside its page')
    if (prefixLength > 0) bytes.copyWithin(starts[i]!, starts[i - 1]!, starts[i - 1]! + prefixLength)
    bytes.set(body.subarray(suffixPosition, suffixPosition + suffixLength), starts[i]! + prefixLength)
    suffixPosition += suffixLength
  }
  return { count, bytes, starts, lengths }
}

/**
 * Decodes the DELTA_BINARY_PACKED integers at the start of a body, at most `maxValues`, into the array that `allocate`
 * returns. Returns them and the position in the body where they end. Throws RangeError if the page is damaged.
 */
function decodeDeltas<T extends Int32Array | BigInt64Array>(
  body: Uint8Array,
  maxValues: number,
  allocate: (count: number) => T,
) {
  const reader = { view: new DataView(body.buffer, body.byteOffset, body.byteLength), offset: 0 }
  const blockSize = readVarInt(reader)
  const miniblocks = readVarInt(reader)
  const count = readVarInt(reader)
  if (!(blockSize > 0 && miniblocks > 0 && miniblocks <= blockSize && count >= 0 && count <= maxValues)) {
    throw new RangeError(`${count} deltas in blocks of ${blockSize}`)
  }
  if (blockSize > 1 << 20) throw new RangeError(`blocks of ${blockSize}`)
  const values = allocate(count)
  if (count > 0) {
    // `deltaBinaryUnpack` reads the header again.
    reader.offset = 0
    deltaBinaryUnpack(reader, count, values)
  } else {
    // The first value is stored even if the count is zero.
    readVarInt(reader)
  }
  return { values, end: reader.offset }
}

/**
 * Adds to text and JSON the reasons why some values cannot be stored. Throws NotTextError for such a value if the
 * column may be stored as hexadecimal instead.
 */
function addTextFaults(values: ByteValues, { format }: LeafType): ByteValues {
  if (format.name !== 'text' && format.name !== 'json' && format.name !== 'text-or-hex') return values
  const { bytes, starts, lengths, count } = values
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let faults: Map<number, string> | undefined
  for (let i = 0; i < count; i++) {
    const start = starts[i]!
    const end = start + lengths[i]!
    let fault = findTextFault(bytes, view, start, end)
    if (fault === undefined && format.name === 'json') fault = findJsonFault(bytes, start, end)
    if (fault === undefined) continue
    if (format.name === 'text-or-hex') throw new NotTextError()
    faults ??= new Map()
    faults.set(i, fault)
  }
  return faults ? { ...values, faults } : values
}

const highestBitOfEachByte = 0x80808080

/**
 * Returns why the warehouse cannot store bytes as text. `view` is a view of `bytes`, which reads four bytes at a time.
 */
function findTextFault(bytes: Uint8Array, view: DataView, start: number, end: number): string | undefined {
  let nonAsciiBits = 0
  let zeroByteBits = 0
  let position = start
  for (; position + 4 <= end; position += 4) {
    const word = view.getInt32(position)
    nonAsciiBits |= word
    // Sets the highest bit of a byte if the byte is 0.
    zeroByteBits |= (word - 0x01010101) & ~word
  }
  for (; position < end; position++) {
    const byte = bytes[position]!
    nonAsciiBits |= byte
    zeroByteBits |= (byte - 1) & ~byte
  }
  const isAscii = (nonAsciiBits & highestBitOfEachByte) === 0
  if (!isAscii && !isUtf8(bytes.subarray(start, end))) return 'is not valid UTF-8'
  const hasZeroByte = (zeroByteBits & highestBitOfEachByte) !== 0
  return hasZeroByte ? 'holds a NUL character, which text in the warehouse cannot' : undefined
}

/** Returns why the warehouse cannot store a JSON value. */
function findJsonFault(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    checkJson(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'))
    return undefined
  } catch (error) {
    if (error instanceof UnstorableValue) return error.message
    throw error
  }
}

/** Frees the memory of values immediately instead of at garbage collection. The values must not be read afterwards. */
export function freeValues(values: DecodedValues): void {
  freeBuffer(values.bytes)
  if (!('starts' in values)) return
  freeBuffer(values.starts)
  freeBuffer(values.lengths)
}

/** Frees a buffer. Small buffers may share memory with others, so these are left to the garbage collector. */
export function freeBuffer({ buffer, byteLength }: Uint8Array | Uint32Array): void {
  if (byteLength > maxPooledBytes && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    buffer.transfer(0)
}
