import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { ColumnMetaData, CompressionCodec, Encoding, PageHeader } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { parquetHeader } from 'hyparquet/src/column.js'
import type { ParquetFile } from './footer.ts'
import { bitWidth, HybridReader } from './rle-hybrid.ts'
import type { MemoryBudget } from './limits.ts'
import type { SchemaLeaf } from './schema.ts'

/**
 * A decompressed data page. Levels that the schema does not need are absent: then all values are present and not
 * repeated.
 */
export interface DataPage {
  entries: number
  repetitions: HybridReader | undefined
  definitions: HybridReader | undefined
  encoding: Encoding
  body: Uint8Array
  /** The whole decompressed memory, with or without levels. The page is its only owner, so the memory can be freed. */
  memory: Uint8Array
  /** The number of values in the body, if the header contains it. Otherwise the levels determine it. */
  values?: number
}

interface DictionaryPage {
  values: number
  body: Uint8Array
}

const scratchBuffer = Buffer.allocUnsafeSlow(1024 * 1024)
const firstGuess = 1024
const longestHeader = 4 * 1024 * 1024
/** An old Java writer did not count the header of the dictionary page in a chunk's length. */
const dictionaryHeaderSlack = 100

/** Reads the pages of one column chunk in order, one at a time. Throws any error that the bytes cause. */
export class PageReader {
  readonly #file: ParquetFile
  readonly #leaf: SchemaLeaf
  readonly #budget: MemoryBudget
  readonly #run: (input: Uint8Array, length: number) => Uint8Array
  readonly #compressed: boolean
  readonly #end: number
  readonly #start: number
  #at: number

  constructor(file: ParquetFile, chunk: ColumnMetaData, leaf: SchemaLeaf, budget: MemoryBudget) {
    const start = chunkStart(chunk)
    const length = Number(chunk.total_compressed_size)
    if (!(start >= 4 && length >= 0 && start + length <= file.dataEnd)) throw new RangeError('it lies outside the file')
    const run = findDecompression(chunk.codec)
    if (!run) throw new RangeError(`compression ${chunk.codec ?? 'unknown'}`)
    this.#file = file
    this.#leaf = leaf
    this.#budget = budget
    this.#run = run
    this.#compressed = chunk.codec !== 'UNCOMPRESSED'
    this.#start = start
    this.#at = start
    this.#end = Math.min(start + length + dictionaryHeaderSlack, file.dataEnd)
  }

  /** The bytes of the file read until now. */
  get bytesRead(): number {
    return this.#at - this.#start
  }

  /**
   * Returns the next page with values, or undefined at the chunk's end. Passes a preceding dictionary page to
   * `dictionary`.
   */
  next(dictionary: (page: DictionaryPage) => void): DataPage | undefined {
    while (this.#at < this.#end) {
      const header = this.#header()
      const compressed = this.#body(header)
      if (header.type === 'DICTIONARY_PAGE') {
        const values = assertCount(header.dictionary_page_header?.num_values)
        dictionary({ values, body: decompressPage(this.#run, compressed, header.uncompressed_page_size) })
      } else if (header.type === 'DATA_PAGE') return this.#readVersion1(header, compressed)
      else if (header.type === 'DATA_PAGE_V2') return this.#readVersion2(header, compressed)
      // Index pages and pages of unknown types contain no values.
    }
    return undefined
  }

  #header(): PageHeader {
    for (let guess = firstGuess; ; guess *= 4) {
      const length = Math.min(guess, this.#end - this.#at)
      const bytes = this.#file.read(
        this.#at,
        length,
        length <= scratchBuffer.length ? scratchBuffer.subarray(0, length) : undefined,
      )
      const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
      try {
        const header = parquetHeader(reader)
        this.#at += reader.offset
        return header
      } catch (error) {
        if (length < guess || guess >= longestHeader) throw error
      }
    }
  }

  #body(header: PageHeader): Uint8Array {
    const { compressed_page_size: length, uncompressed_page_size: uncompressedSize, crc } = header
    if (!(length >= 0 && this.#at + length <= this.#end)) throw new RangeError('a page ends outside its column')
    this.#budget.admit(length, uncompressedSize)
    const bytes = this.#file.read(this.#at, length, this.#reserve(length))
    this.#at += length
    if (crc !== undefined && crc32(bytes) !== crc >>> 0) throw new RangeError('a checksum does not match')
    return bytes
  }

  /**
   * Returns memory for reading compressed bytes. Decompression copies them, so all columns may share this memory. A
   * large buffer is not kept.
   */
  #reserve(length: number): Buffer<ArrayBuffer> | undefined {
    if (!this.#compressed || length > scratchBuffer.length) return undefined
    return scratchBuffer.subarray(0, length)
  }

  /** Reads a version 1 data page: the levels are compressed together with the values. */
  #readVersion1(header: PageHeader, compressed: Uint8Array): DataPage {
    const info = header.data_page_header
    if (!info) throw new RangeError('a page without description')
    const page = decompressPage(this.#run, compressed, header.uncompressed_page_size)
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
    let position = 0
    const readLevels = (maxLevel: number, encoding: Encoding | undefined) => {
      if (maxLevel === 0) return undefined
      if (encoding !== 'RLE') throw new RangeError(`levels in ${encoding ?? 'an unknown encoding'}`)
      const from = position + 4
      position = from + view.getUint32(position, true)
      return new HybridReader(page, from, position, bitWidth(maxLevel))
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

  /** Reads a version 2 data page: the levels are uncompressed and precede the values. */
  #readVersion2(header: PageHeader, compressed: Uint8Array): DataPage {
    const info = header.data_page_header_v2
    if (!info) throw new RangeError('a page without description')
    const repetitionByteCount = assertCount(info.repetition_levels_byte_length)
    const levelByteCount = repetitionByteCount + assertCount(info.definition_levels_byte_length)
    if (levelByteCount > compressed.length) throw new RangeError('levels end outside their page')
    // Copies the levels, because the memory of `compressed` will be reused.
    const levelBytes = Uint8Array.prototype.slice.call(compressed, 0, levelByteCount)
    const createLevelReader = (maxLevel: number, from: number, to: number) =>
      maxLevel === 0 ? undefined : new HybridReader(levelBytes, from, to, bitWidth(maxLevel))
    const valueBytes = compressed.subarray(levelByteCount)
    const uncompressedSize = header.uncompressed_page_size - levelByteCount
    // Some writers mark an empty page as compressed.
    const isUncompressed = info.is_compressed === false || valueBytes.length === 0
    const body = isUncompressed
      ? Uint8Array.prototype.slice.call(valueBytes)
      : decompressPage(this.#run, valueBytes, uncompressedSize)
    return {
      entries: assertCount(info.num_values),
      repetitions: createLevelReader(this.#leaf.maxRepetition, 0, repetitionByteCount),
      definitions: createLevelReader(this.#leaf.maxDefinition, repetitionByteCount, levelByteCount),
      encoding: info.encoding,
      body,
      memory: body,
      values: assertCount(info.num_values) - assertCount(info.num_nulls),
    }
  }
}

function chunkStart({ dictionary_page_offset: dictionary, data_page_offset: data }: ColumnMetaData): number {
  // Zero means absent, because some writers store 0 instead of leaving out the field.
  const first = dictionary !== undefined && dictionary > 0n && dictionary < data ? dictionary : data
  return Number(first)
}

function assertCount(value: number | undefined): number {
  if (value === undefined || !(value >= 0)) throw new RangeError(`a count of ${value}`)
  return value
}

type PageDecompressor = (input: Uint8Array, length: number) => Uint8Array

/**
 * Decompressors by codec. All of them stop at `length`, so a page cannot exceed the length in its header, which is
 * checked before. Node's native ones are several times faster than JavaScript; Snappy is WebAssembly.
 */
const decompressorsByCodec: Partial<Record<CompressionCodec, PageDecompressor>> = {
  UNCOMPRESSED: (input) => input,
  SNAPPY: compressors.SNAPPY!,
  GZIP: (input, length) => gunzipSync(input, { maxOutputLength: atLeastOne(length) }),
  BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: atLeastOne(length) }),
  ZSTD: (input, length) => zstdDecompressSync(input, { maxOutputLength: atLeastOne(length) }),
  LZ4: compressors.LZ4!,
  LZ4_RAW: compressors.LZ4_RAW!,
}

const atLeastOne = (length: number) => Math.max(1, length)

export const knownCodecs = Object.keys(decompressorsByCodec).filter((codec) => codec !== 'UNCOMPRESSED')

export function findDecompression(codec: CompressionCodec | undefined): PageDecompressor | undefined {
  return codec === undefined ? undefined : decompressorsByCodec[codec]
}

/** Decompresses a page. Throws if the bytes do not match the page's header. */
export function decompressPage(run: PageDecompressor, input: Uint8Array, length: number): Uint8Array {
  const page = length === 0 && input.length === 0 ? input : run(input, length)
  if (page.length !== length) throw new RangeError(`a page has ${page.length} bytes, but its header says ${length}`)
  return page
}
