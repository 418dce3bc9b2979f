import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { ColumnMetaData, CompressionCodec, Encoding, PageHeader } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { parquetHeader } from 'hyparquet/src/column.js'
import type { ParquetFile } from './parquet-file.ts'
import { countBits, HybridReader } from './rle-hybrid.ts'
import type { MemoryBudget } from './limits.ts'
import type { SchemaLeaf } from './schema.ts'

/** A decompressed data page. */
export interface DataPage {
  entries: number
  /** The repetition levels. Undefined if the column is not below a list. */
  repetitions: HybridReader | undefined
  /** The definition levels. Undefined if the schema allows no nulls, so that every entry has a value. */
  definitions: HybridReader | undefined
  encoding: Encoding
  body: Uint8Array
  /** The memory that contains `body` and perhaps the levels. Nothing else uses it, so it can be freed with the page. */
  memory: Uint8Array
  /** The number of values in the body. Undefined if the page's header does not contain it. */
  valueCount?: number
}

interface DictionaryPage {
  valueCount: number
  body: Uint8Array
}

const scratchBuffer = Buffer.allocUnsafeSlow(1024 * 1024)
const initialHeaderBytes = 1024
const maxHeaderBytes = 4 * 1024 * 1024
/**
 * Bytes to read beyond a chunk's length, because an old Java writer did not count the header of the dictionary page.
 */
const dictionaryHeaderSlack = 100

/** Reads the pages of one column chunk, one after the other. Damaged bytes may cause errors of any type. */
export class PageReader {
  readonly #file: ParquetFile
  readonly #leaf: SchemaLeaf
  readonly #budget: MemoryBudget
  readonly #decompress: PageDecompressor
  readonly #isCompressed: boolean
  readonly #end: number
  readonly #start: number
  #position: number

  constructor(file: ParquetFile, chunk: ColumnMetaData, leaf: SchemaLeaf, budget: MemoryBudget) {
    const start = findChunkStart(chunk)
    const length = Number(chunk.total_compressed_size)
    if (!(start >= 4 && length >= 0 && start + length <= file.dataEnd)) throw new RangeError('it lies outside the file')
    const decompress = findDecompressor(chunk.codec)
    if (!decompress) throw new RangeError(`compression ${chunk.codec ?? 'unknown'}`)
    this.#file = file
    this.#leaf = leaf
    this.#budget = budget
    this.#decompress = decompress
    this.#isCompressed = chunk.codec !== 'UNCOMPRESSED'
    this.#start = start
    this.#position = start
    this.#end = Math.min(start + length + dictionaryHeaderSlack, file.dataEnd)
  }

  /** The bytes of the file read until now. */
  get bytesRead(): number {
    return this.#position - this.#start
  }

  /**
   * Returns the next data page, or undefined at the end of the chunk. Calls `onDictionary` if a dictionary page
   * precedes it.
   */
  next(onDictionary: (page: DictionaryPage) => void): DataPage | undefined {
    while (this.#position < this.#end) {
      const header = this.#readHeader()
      const compressed = this.#readBody(header)
      if (header.type === 'DICTIONARY_PAGE') {
        const valueCount = assertCount(header.dictionary_page_header?.num_values)
        onDictionary({ valueCount, body: decompressPage(this.#decompress, compressed, header.uncompressed_page_size) })
      } else if (header.type === 'DATA_PAGE') return this.#readVersion1(header, compressed)
      else if (header.type === 'DATA_PAGE_V2') return this.#readVersion2(header, compressed)
      // Index pages and pages of unknown types contain no values.
    }
    return undefined
  }

  #readHeader(): PageHeader {
    // The length of a header is unknown, so it is parsed from more and more bytes until they suffice.
    for (let maxLength = initialHeaderBytes; ; maxLength *= 4) {
      const length = Math.min(maxLength, this.#end - this.#position)
      const bytes = this.#file.read(
        this.#position,
        length,
        length <= scratchBuffer.length ? scratchBuffer.subarray(0, length) : undefined,
      )
      const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
      try {
        const header = parquetHeader(reader)
        this.#position += reader.offset
        return header
      } catch (error) {
        const canReadMore = length === maxLength && maxLength < maxHeaderBytes
        if (!canReadMore) throw error
      }
    }
  }

  #readBody(header: PageHeader): Uint8Array {
    const { compressed_page_size: length, uncompressed_page_size: uncompressedSize, crc } = header
    if (!(length >= 0 && this.#position + length <= this.#end)) throw new RangeError('a page ends outside its column')
    this.#budget.admitPage(length, uncompressedSize)
    const bytes = this.#file.read(this.#position, length, this.#bufferForReading(length))
    this.#position += length
    if (crc !== undefined && crc32(bytes) !== crc >>> 0) throw new RangeError('a checksum does not match')
    return bytes
  }

  /**
   * Returns the shared buffer for bytes that will be copied by decompression. Returns undefined if the bytes need a
   * buffer of their own: uncompressed bytes are used where they were read, and a large page does not fit.
   */
  #bufferForReading(length: number): Buffer<ArrayBuffer> | undefined {
    if (!this.#isCompressed || length > scratchBuffer.length) return undefined
    return scratchBuffer.subarray(0, length)
  }

  /** Reads a data page of version 1, in which the levels are compressed together with the values. */
  #readVersion1(header: PageHeader, compressed: Uint8Array): DataPage {
    const info = header.data_page_header
    if (!info) throw new RangeError('a page without description')
    const page = decompressPage(this.#decompress, compressed, header.uncompressed_page_size)
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
    let position = 0
    const readLevels = (maxLevel: number, encoding: Encoding | undefined) => {
      if (maxLevel === 0) return undefined
      if (encoding !== 'RLE') throw new RangeError(`levels in ${encoding ?? 'an unknown encoding'}`)
      const from = position + 4
      position = from + view.getUint32(position, true)
      return new HybridReader(page, from, position, countBits(maxLevel))
    }
    const repetitions = readLevels(this.#leaf.maxRepetition, info.repetition_level_encoding)
    const definitions = readLevels(this.#leaf.maxDefinition, info.definition_level_encoding)
    return {
      entries: assertCount(info.num_values),
      repetitions,
      definitions,
      encoding: info.encoding,
      body: page.subarray(position),
      memory: page,
    }
  }

  /** Reads a data page of version 2, in which the levels precede the values and are not compressed. */
  #readVersion2(header: PageHeader, compressed: Uint8Array): DataPage {
    const info = header.data_page_header_v2
    if (!info) throw new RangeError('a page without description')
    const repetitionByteCount = assertCount(info.repetition_levels_byte_length)
    const levelByteCount = repetitionByteCount + assertCount(info.definition_levels_byte_length)
    if (levelByteCount > compressed.length) throw new RangeError('levels end outside their page')
    // Copies the levels, because the memory of `compressed` will be reused.
    const levelBytes = Uint8Array.prototype.slice.call(compressed, 0, levelByteCount)
    const createLevelReader = (maxLevel: number, from: number, to: number) =>
      maxLevel === 0 ? undefined : new HybridReader(levelBytes, from, to, countBits(maxLevel))
    const valueBytes = compressed.subarray(levelByteCount)
    const uncompressedSize = header.uncompressed_page_size - levelByteCount
    // Some writers mark an empty page as compressed.
    const isUncompressed = info.is_compressed === false || valueBytes.length === 0
    const body = isUncompressed
      ? Uint8Array.prototype.slice.call(valueBytes)
      : decompressPage(this.#decompress, valueBytes, uncompressedSize)
    return {
      entries: assertCount(info.num_values),
      repetitions: createLevelReader(this.#leaf.maxRepetition, 0, repetitionByteCount),
      definitions: createLevelReader(this.#leaf.maxDefinition, repetitionByteCount, levelByteCount),
      encoding: info.encoding,
      body,
      memory: body,
      valueCount: assertCount(info.num_values) - assertCount(info.num_nulls),
    }
  }
}

/** Returns the position of a chunk's first page: the dictionary page if there is one, otherwise the first data page. */
function findChunkStart(chunk: ColumnMetaData): number {
  const { dictionary_page_offset: dictionaryOffset, data_page_offset: dataOffset } = chunk
  // Some writers store 0 if the chunk has no dictionary page.
  const hasDictionary = dictionaryOffset !== undefined && dictionaryOffset > 0n && dictionaryOffset < dataOffset
  return Number(hasDictionary ? dictionaryOffset : dataOffset)
}

function assertCount(value: number | undefined): number {
  if (value === undefined || !(value >= 0)) throw new RangeError(`a count of ${value}`)
  return value
}

type PageDecompressor = (input: Uint8Array, uncompressedLength: number) => Uint8Array

/**
 * Decompressors by codec. All of them stop at the uncompressed length, which was checked before, so that the output
 * cannot be larger than the page's header says. Node's native decompressors are several times faster than JavaScript;
 * Snappy is WebAssembly.
 */
const decompressorsByCodec: Partial<Record<CompressionCodec, PageDecompressor>> = {
  UNCOMPRESSED: (input) => input,
  SNAPPY: compressors.SNAPPY!,
  GZIP: (input, length) => gunzipSync(input, { maxOutputLength: toZlibOutputLength(length) }),
  BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: toZlibOutputLength(length) }),
  ZSTD: (input, length) => zstdDecompressSync(input, { maxOutputLength: toZlibOutputLength(length) }),
  LZ4: compressors.LZ4!,
  LZ4_RAW: compressors.LZ4_RAW!,
}

/** Node rejects an output limit of 0. */
const toZlibOutputLength = (length: number) => Math.max(1, length)

export const knownCodecs = Object.keys(decompressorsByCodec).filter((codec) => codec !== 'UNCOMPRESSED')

export function findDecompressor(codec: CompressionCodec | undefined): PageDecompressor | undefined {
  return codec === undefined ? undefined : decompressorsByCodec[codec]
}

/** Decompresses a page. Throws if the bytes do not match the page's header. */
function decompressPage(decompress: PageDecompressor, input: Uint8Array, length: number): Uint8Array {
  const isEmpty = length === 0 && input.length === 0
  const page = isEmpty ? input : decompress(input, length)
  if (page.length !== length) throw new RangeError(`a page has ${page.length} bytes, but its header says ${length}`)
  return page
}
