import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { CompressionCodec } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'

type Decompress = (input: Uint8Array, length: number) => Uint8Array

/**
 * Decompressors by codec. All of them stop at `length`: a page cannot exceed the length in its header, which is checked
 * before. Node's own are several times faster than the same in JavaScript; Snappy is WebAssembly.
 */
const decompressions: Partial<Record<CompressionCodec, Decompress>> = {
  UNCOMPRESSED: (input) => input,
  SNAPPY: compressors.SNAPPY!,
  GZIP: (input, length) => gunzipSync(input, { maxOutputLength: atLeastOne(length) }),
  BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: atLeastOne(length) }),
  ZSTD: (input, length) => zstdDecompressSync(input, { maxOutputLength: atLeastOne(length) }),
  LZ4: compressors.LZ4!,
  LZ4_RAW: compressors.LZ4_RAW!,
}

const atLeastOne = (length: number) => Math.max(1, length)

export const knownCodecs = Object.keys(decompressions).filter((codec) => codec !== 'UNCOMPRESSED')

export function findDecompression(codec: CompressionCodec | undefined): Decompress | undefined {
  return codec === undefined ? undefined : decompressions[codec]
}

/** Throws if the bytes do not match their header. */
export function decompress(run: Decompress, input: Uint8Array, length: number): Uint8Array {
  const page = length === 0 && input.length === 0 ? input : run(input, length)
  if (page.length !== length) throw new RangeError(`a page has ${page.length} bytes where its header says ${length}`)
  return page
}
