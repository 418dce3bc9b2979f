import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type ColumnChunk, type FileMetaData, type SchemaElement, parquetMetadata } from 'hyparquet'
import { SourceProblem } from '@sluice/row-stream'
import { FileProblem, damagedFileProblem } from './file-problems.ts'
import type { ParquetLimits } from './limits.ts'
import type { ParquetColumn } from './schema.ts'

const parquetMagic = 'PAR1'
const encryptedMagic = 'PARE'
/** The minimum file size in bytes: `PAR1` at the start; length and `PAR1` at the end. */
const minFileBytes = 12
/** The maximum bytes of a number in the footer. hyparquet would read a number of any length, in quadratic time. */
const longestNumber = 16 * 1024

/** An open file with its parsed footer. */
export class ParquetFile implements Disposable {
  readonly size: number
  readonly metadata: FileMetaData
  /** The position where the footer starts. All pages end before it. */
  readonly dataEnd: number
  readonly #fd: number
  readonly #owned: boolean
  readonly #stamp: string

  /**
   * Opens a file and reads its footer. If `path` is a descriptor, it stays open. Throws FileProblem, or SourceProblem
   * FILE_MISSING.
   */
  constructor(path: string | number, fileName: string, limits: ParquetLimits) {
    this.#owned = typeof path === 'string'
    this.#fd = typeof path === 'string' ? openFile(path, fileName) : path
    try {
      const { size } = fstatSync(this.#fd)
      this.#stamp = this.#stampNow()
      this.size = size
      const footerBytes = this.#footerLength(size, limits)
      this.dataEnd = size - 8 - footerBytes
      this.metadata = readMetadata(this.read(this.dataEnd, footerBytes + 8))
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /** Reads exactly `length` bytes. Throws FileProblem if the file has become shorter. */
  read(from: number, length: number, target = Buffer.allocUnsafeSlow(length)): Buffer {
    let bytesRead = 0
    while (bytesRead < length) {
      const bytesInCall = readSync(this.#fd, target, bytesRead, length - bytesRead, from + bytesRead)
      if (bytesInCall === 0) throw damagedFileProblem('its end')
      bytesRead += bytesInCall
    }
    return target.length === length ? target : target.subarray(0, length)
  }

  assertUnchanged(): void {
    if (this.#stampNow() === this.#stamp) return
    throw new FileProblem('FILE_DAMAGED', 'changed while it was being read. Run the load again.')
  }

  [Symbol.dispose](): void {
    if (this.#owned) closeSync(this.#fd)
  }

  #stampNow(): string {
    const { size, mtimeMs } = fstatSync(this.#fd)
    return `${size} ${mtimeMs}`
  }

  #footerLength(size: number, { footerBytes }: ParquetLimits): number {
    if (size === 0) throw new FileProblem('FILE_EMPTY', 'is empty. Upload a file with data.')
    const firstMagic = this.read(0, Math.min(4, size)).toString('latin1')
    if (firstMagic === encryptedMagic) throw encryptedFileProblem()
    if (firstMagic !== parquetMagic) {
      throw new FileProblem(
        'NOT_PARQUET',
        'is not a Parquet file. Upload a Parquet file, or use a pipeline for the format of this file.',
      )
    }
    if (size < minFileBytes) throw createTruncatedFileProblem()
    const trailer = this.read(size - 8, 8)
    const lastMagic = trailer.toString('latin1', 4)
    if (lastMagic === encryptedMagic) throw encryptedFileProblem()
    if (lastMagic !== parquetMagic) throw createTruncatedFileProblem()
    const length = trailer.readUInt32LE(0)
    if (length > size - minFileBytes) throw damagedFileProblem('its footer')
    if (length > footerBytes) {
      throw new FileProblem(
        'PARQUET_NOT_SUPPORTED',
        `has a footer of ${length} bytes; up to ${footerBytes} are read. Write it with larger row groups.`,
      )
    }
    return length
  }
}

function openFile(path: string, fileName: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new SourceProblem('FILE_MISSING', `${fileName} no longer exists. Upload it again.`, { cause })
  }
}

function readMetadata(footer: Buffer): FileMetaData {
  try {
    refuseEndlessNumbers(footer)
    // Geometry columns of GeoParquet are kept as bytes, so their annotations are not needed.
    const metadata = parquetMetadata(new Uint8Array(footer), { geoparquet: false, parsers: plainParsers })
    assertSane(metadata)
    return metadata
  } catch (cause) {
    throw damagedFileProblem('its footer', cause)
  }
}

/** Parsers that ignore statistics. Statistics are not used, so invalid ones must not cause an error. */
const plainParsers = {
  timestampFromMilliseconds: (value: bigint) => value,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  stringFromBytes: () => '',
  jsonFromBytes: () => undefined,
  geometryFromBytes: () => undefined,
  geographyFromBytes: () => undefined,
  uuidFromBytes: () => undefined,
}

function refuseEndlessNumbers(footer: Buffer): void {
  let run = 0
  for (const byte of footer) {
    run = byte < 0x80 ? 0 : run + 1
    if (run > longestNumber) throw new RangeError('a number without end')
  }
}

const encryptedFileProblem = () =>
  new FileProblem('PARQUET_ENCRYPTED', 'is encrypted. Write it without encryption and upload it again.')

const createTruncatedFileProblem = () =>
  new FileProblem('FILE_DAMAGED', 'is cut short: the end of a Parquet file is missing. Upload the whole file again.')

/**
 * Throws RangeError unless all used values have the expected type. This is needed because hyparquet returns values of
 * whatever type the bytes declare.
 */
function assertSane({ schema, row_groups: groups }: FileMetaData): void {
  for (const element of schema) assertElement(element)
  for (const { columns, num_rows: rows } of groups) {
    if (typeof rows !== 'bigint' || rows < 0n) throw new RangeError('a row group has no number of rows')
    for (const column of columns) assertChunk(column)
  }
}

function assertElement({ name, num_children, type_length, scale, precision, logical_type }: SchemaElement): void {
  const { bitWidth, scale: digits, precision: fields } = { ...logical_type } as Record<string, unknown>
  const numbers = [num_children, type_length, scale, precision, bitWidth, digits, fields]
  if (typeof name !== 'string' || !numbers.every((number) => number === undefined || Number.isInteger(number))) {
    throw new RangeError('a column is not described')
  }
}

function assertChunk({ meta_data: data }: ColumnChunk): void {
  // Absent if the column is encrypted or in another file.
  if (data === undefined) return
  const { num_values, total_compressed_size, data_page_offset, dictionary_page_offset = 0n } = data
  const integerFields = [num_values, total_compressed_size, data_page_offset, dictionary_page_offset]
  if (!integerFields.every((number) => typeof number === 'bigint'))
    throw new RangeError('a column has no place in the file')
}

/**
 * Checks the row counts of the footer. Throws FileProblem if they contradict each other or are implausible for the
 * file's size.
 */
export function assertPlausible({ metadata, size }: ParquetFile, { ratio, ratioFrom }: ParquetLimits): number {
  const counts = metadata.row_groups.map((group) => Number(group.num_rows))
  if (counts.some((count) => !(count >= 0 && Number.isSafeInteger(count))))
    throw damagedFileProblem('its number of rows')
  const rows = counts.reduce((sum, count) => sum + count, 0)
  if (rows > ratioFrom.rows + ratio * size) {
    throw new FileProblem(
      'FILE_TOO_DENSE',
      `claims ${rows} rows in ${size} bytes. The file may be malicious: check where it comes from.`,
    )
  }
  return rows
}

/** Returns the column with its bytes shown in hexadecimal instead of as text. */
export function asHex({ column, node }: ParquetColumn): ParquetColumn {
  return { column, node: hexBelow(node) }
}

function hexBelow(node: ParquetColumn['node']): ParquetColumn['node'] {
  const { leaf } = node
  if (leaf) {
    if (leaf.type.reading.as !== 'text-or-hex') return node
    const hex = { ...leaf, type: { ...leaf.type, reading: { as: 'hex' as const, prefix: '\\x' as const } } }
    return { ...node, leaf: hex, leaves: [hex] }
  }
  const children = node.children.map(hexBelow)
  return { ...node, children, leaves: children.flatMap(({ leaves }) => leaves) }
}
