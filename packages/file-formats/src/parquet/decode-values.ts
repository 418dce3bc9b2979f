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

/** Thrown if bytes without a type annotation are not valid UTF-8 text. */
export class NotText extends Error {
  override readonly name = 'NotText'
}

/** Buffers up to this size may come from Node's shared pool. */
const smallBytes = 64 * 1024

const physicalTypeWidths = { BOOLEAN: 1, INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8 } as const

/**
 * Reads at most `maxBytes` values of a page's body. `maxOutputBytes` limits the output of encodings with shared
 * prefixes. Throws for invalid bytes.
 */
export function readValues(
  body: Uint8Array,
  encoding: Encoding,
  maxBytes: number,
  type: LeafType,
  maxOutputBytes: number,
): DecodedValues {
  const { physical } = type
  if (physical === 'BYTE_ARRAY') return addTextFaults(readByteArrays(body, encoding, maxBytes, maxOutputBytes), type)
  if (physical === 'BOOLEAN') return decodeFixed(readBooleans(body, encoding, maxBytes), 1)
  const width = physical === 'FIXED_LEN_BYTE_ARRAY' ? type.width : physicalTypeWidths[physical]
  switch (encoding) {
    case 'PLAIN':
      return decodeFixed(body, width)
    case 'BYTE_STREAM_SPLIT':
      return decodeFixed(joinStreams(body, width), width)
    case 'DELTA_BINARY_PACKED':
      if (physical === 'INT32')
        return decodeFixed(bytesOf(unpackDeltas(body, maxBytes, (count) => new Int32Array(count)).values), width)
      if (physical === 'INT64')
        return decodeFixed(bytesOf(unpackDeltas(body, maxBytes, (count) => new BigInt64Array(count)).values), width)
      break
    case 'DELTA_BYTE_ARRAY':
      if (physical === 'FIXED_LEN_BYTE_ARRAY') {
        const { bytes, lengths } = joinPrefixes(body, maxBytes, maxOutputBytes)
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

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | BigInt64Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

function readBooleans(body: Uint8Array, encoding: Encoding, maxBytes: number): Uint8Array {
  if (encoding === 'RLE') {
    const bits = new Uint8Array(maxBytes)
    const end = 4 + new DataView(body.buffer, body.byteOffset, body.byteLength).getUint32(0, true)
    new HybridReader(body, 4, end, 1).read(bits, maxBytes)
    return bits
  }
  if (encoding !== 'PLAIN') throw new RangeError(`booleans in encoding ${encoding}`)
  const bits = new Uint8Array(Math.min(maxBytes, body.length * 8))
  for (let i = 0; i < bits.length; i++) bits[i] = (body[i >> 3]! >> (i & 7)) & 1
  return bits
}

function joinStreams(body: Uint8Array, width: number): Uint8Array {
  const count = Math.floor(body.length / width)
  const bytes = new Uint8Array(count * width)
  for (let stream = 0; stream < width; stream++) {
    for (let i = 0; i < count; i++) bytes[i * width + stream] = body[stream * count + i]!
  }
  return bytes
}

/**
 * Returns the values of a page's body as positions in its bytes. Reads at most `maxBytes` values. Throws RangeError if
 * the page is damaged.
 */
function readByteArrays(body: Uint8Array, encoding: Encoding, maxBytes: number, maxOutputBytes: number): ByteValues {
  if (encoding === 'PLAIN') return plainByteArrays(body, maxBytes)
  if (encoding === 'DELTA_BYTE_ARRAY') return joinPrefixes(body, maxBytes, maxOutputBytes)
  if (encoding !== 'DELTA_LENGTH_BYTE_ARRAY') throw new RangeError(`values of BYTE_ARRAY in encoding ${encoding}`)
  const { values, end } = unpackDeltas(body, maxBytes, (count) => new Int32Array(count))
  const starts = new Uint32Array(values.length)
  let position = end
  for (let i = 0; i < values.length; i++) {
    if (values[i]! < 0) throw new RangeError('a value of negative length')
    starts[i] = position
    position += values[i]!
  }
  if (position > body.length) throw new RangeError('a value ends outside its page')
  return { count: values.length, bytes: body, starts, lengths: new Uint32Array(values.buffer) }
}

function plainByteArrays(bytes: Uint8Array, maxBytes: number): ByteValues {
  // A value takes at least the four bytes of its length.
  const maxValues = Math.min(maxBytes, bytes.length >> 2)
  const starts = new Uint32Array(maxValues)
  const lengths = new Uint32Array(maxValues)
  let count = 0
  for (let position = 0; count < maxValues && position + 4 <= bytes.length; count++) {
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
 * Reads values that share their first bytes with the previous value. A few bytes may expand to very many, so the
 * lengths are summed up before any value is copied.
 */
function joinPrefixes(body: Uint8Array, maxBytes: number, maxOutputBytes: number): ByteValues {
  const prefixes = unpackDeltas(body, maxBytes, (count) => new Int32Array(count))
  const suffixes = unpackDeltas(body.subarray(prefixes.end), maxBytes, (count) => new Int32Array(count))
  const count = prefixes.values.length
  if (suffixes.values.length !== count) throw new RangeError('prefixes and suffixes do not match')
  const lengths = new Uint32Array(count)
  const starts = new Uint32Array(count)
  let outputBytes = 0
  for (let i = 0; i < count; i++) {
    const sharedLength = prefixes.values[i]!
    const suffixLength = suffixes.values[i]!
    if (sharedLength < 0 || suffixLength < 0 || sharedLength > (i === 0 ? 0 : lengths[i - 1]!))
      throw new RangeError('a prefix without end')
    starts[i] = outputBytes
    lengths[i] = sharedLength + suffixLength
    outputBytes += sharedLength + suffixLength
    if (outputBytes > maxOutputBytes) throw new RangeError(`values grow beyond ${maxOutputBytes} bytes`)
  }
  const bytes = new Uint8Array(outputBytes)
  let suffixPosition = prefixes.end + suffixes.end
  for (let i = 0; i < count; i++) {
    const sharedLength = prefixes.values[i]!
    const suffixLength = suffixes.values[i]!
    if (suffixPosition + suffixLength > body.length) throw new RangeError('a value ends outside its page')
    if (sharedLength > 0) bytes.copyWithin(starts[i]!, starts[i - 1]!, starts[i - 1]! + sharedLength)
    bytes.set(body.subarray(suffixPosition, suffixPosition + suffixLength), starts[i]! + sharedLength)
    suffixPosition += suffixLength
  }
  return { count, bytes, starts, lengths }
}

/** Reads all deltas at the start of a body. Returns them and the position where they end. */
function unpackDeltas<T extends Int32Array | BigInt64Array>(
  body: Uint8Array,
  maxBytes: number,
  allocate: (count: number) => T,
) {
  const reader = { view: new DataView(body.buffer, body.byteOffset, body.byteLength), offset: 0 }
  const blockSize = readVarInt(reader)
  const miniblocks = readVarInt(reader)
  const count = readVarInt(reader)
  if (!(blockSize > 0 && miniblocks > 0 && miniblocks <= blockSize && count >= 0 && count <= maxBytes)) {
    throw new RangeError(`${count} deltas in blocks of ${blockSize}`)
  }
  if (blockSize > 1 << 20) throw new RangeError(`blocks of ${blockSize}`)
  const values = allocate(count)
  if (count > 0) {
    reader.offset = 0
    deltaBinaryUnpack(reader, count, values)
  } else {
    // The first value is stored even if the count is zero.
    readVarInt(reader)
  }
  return { values, end: reader.offset }
}

/** Finds the values that are invalid for their type in the warehouse, and records the reasons. */
function addTextFaults(values: ByteValues, { reading }: LeafType): ByteValues {
  if (reading.as !== 'text' && reading.as !== 'json' && reading.as !== 'text-or-hex') return values
  const { bytes, starts, lengths, count } = values
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let faults: Map<number, string> | undefined
  for (let i = 0; i < count; i++) {
    const start = starts[i]!
    const end = start + lengths[i]!
    let highBits = 0
    let zeroByteBits = 0
    let position = start
    for (; position + 4 <= end; position += 4) {
      const word = view.getInt32(position)
      highBits |= word
      // Sets the highest bit of a byte if the byte is 0.
      zeroByteBits |= (word - 0x01010101) & ~word
    }
    for (; position < end; position++) {
      const byte = bytes[position]!
      highBits |= byte
      zeroByteBits |= (byte - 1) & ~byte
    }
    highBits &= 0x80808080
    zeroByteBits &= 0x80808080
    let fault: string | undefined
    if (highBits !== 0 && !isUtf8(bytes.subarray(start, end))) fault = 'is not valid UTF-8'
    else if (zeroByteBits !== 0) fault = 'holds a NUL character, which text in the warehouse cannot'
    else if (reading.as === 'json') fault = jsonFault(bytes, start, end)
    if (fault === undefined) continue
    if (reading.as === 'text-or-hex') throw new NotText()
    faults ??= new Map()
    faults.set(i, fault)
  }
  return faults ? { ...values, faults } : values
}

function jsonFault(bytes: Uint8Array, start: number, end: number): string | undefined {
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
  if (byteLength > smallBytes && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
