import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type ColumnChunk, type FileMetaData, type SchemaElement, parquetMetadata } from 'hyparquet'
import { SourceProblem } from '@sluice/row-stream'
import { FileProblem, damagedFileProblem } from './file-problems.ts'
import type { ParquetLimits } from './limits.ts'
import type { ParquetColumn, ValueFormat } from './schema.ts'

const parquetMagic = 'PAR1'
const encryptedMagic = 'PARE'
const magicBytes = 4
/** The end of a file: the length of the footer, and `PAR1`. */
const trailerBytes = 8
const minFileBytes = magicBytes + trailerBytes
/** The maximum bytes of a number in the footer. hyparquet reads a number of any length, in quadratic time. */
const maxNumberBytes = 16 * 1024

/** An open file with its parsed footer. */
export class ParquetFile implements Disposable {
  readonly size: number
  readonly metadata: FileMetaData
  /** The position where the footer starts. All pages end before it. */
  readonly dataEnd: number
  readonly #fd: number
  readonly #ownsDescriptor: boolean
  readonly #fingerprint: string

  /**
   * Opens a file and reads its footer. `path` may also be the descriptor of an open file, which disposal then leaves
   * open. Throws FileProblem if the file cannot be read, or SourceProblem FILE_MISSING.
   */
  constructor(path: string | number, fileName: string, limits: ParquetLimits) {
    this.#ownsDescriptor = typeof path === 'string'
    this.#fd = typeof path === 'string' ? openFile(path, fileName) : path
    try {
      const { size } = fstatSync(this.#fd)
      this.#fingerprint = this.#readFingerprint()
      this.size = size
      const footerBytes = this.#readFooterLength(size, limits)
      this.dataEnd = size - trailerBytes - footerBytes
      this.metadata = readMetadata(this.read(this.dataEnd, footerBytes + trailerBytes))
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /** Reads exactly `length` bytes, into `target` if it is given. Throws FileProblem if the file has become shorter. */
  read(from: number, length: number, target = Buffer.allocUnsafeSlow(length)): Buffer {
    let bytesRead = 0
    while (bytesRead < length) {
      const bytesInCall = readSync(this.#fd, target, bytesRead, length - bytesRead, from + bytesRead)
      if (bytesInCall === 0) throw damagedFileProblem('its end')
      bytesRead += bytesInCall
    }
    return target.length === length ? target : target.subarray(0, length)
  }

  /** Throws FileProblem if the file was changed since it was opened. */
  assertUnchanged(): void {
    if (this.#readFingerprint() === this.#fingerprint) return
    throw new FileProblem('FILE_DAMAGED', 'changed while it was being read. Run the load again.')
  }

  [Symbol.dispose](): void {
    if (this.#ownsDescriptor) closeSync(this.#fd)
  }

  #readFingerprint(): string {
    const { size, mtimeMs } = fstatSync(this.#fd)
    return `${size} ${mtimeMs}`
  }

  /** Returns the length of the footer. Throws FileProblem if the file is not a complete, unencrypted Parquet file. */
  #readFooterLength(size: number, { maxFooterBytes }: ParquetLimits): number {
    if (size === 0) throw new FileProblem('FILE_EMPTY', 'is empty. Upload a file with data.')
    const firstMagic = this.read(0, Math.min(magicBytes, size)).toString('latin1')
    if (firstMagic === encryptedMagic) throw createEncryptedFileProblem()
    if (firstMagic !== parquetMagic) {
      throw new FileProblem(
        'NOT_PARQUET',
        'is not a Parquet file. Upload a Parquet file, or use a pipeline for the format of this file.',
      )
    }
    if (size < minFileBytes) throw createTruncatedFileProblem()
    const trailer = this.read(size - trailerBytes, trailerBytes)
    const lastMagic = trailer.toString('latin1', trailerBytes - magicBytes)
    if (lastMagic === encryptedMagic) throw createEncryptedFileProblem()
    if (lastMagic !== parquetMagic) throw createTruncatedFileProblem()
    const length = trailer.readUInt32LE(0)
    if (length > size - minFileBytes) throw damagedFileProblem('its footer')
    if (length > maxFooterBytes) {
      throw new FileProblem(
        'PARQUET_NOT_SUPPORTED',
        `has a footer of ${length} bytes; up to ${maxFooterBytes} are read. Write it with larger row groups.`,
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
    assertShortNumbers(footer)
    // Geometry columns of GeoParquet are read as bytes, so their annotations are not needed.
    const metadata = parquetMetadata(new Uint8Array(footer), { geoparquet: false, parsers: noStatisticsParsers })
    assertFieldTypes(metadata)
    return metadata
  } catch (cause) {
    throw damagedFileProblem('its footer', cause)
  }
}

/**
 * Parsers that do not convert statistics. The reader does not use statistics, so invalid ones must not cause an error.
 */
const noStatisticsParsers = {
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

/**
 * Throws RangeError if a variable-length number is too long. All bytes of such a number except the last are >= 0x80.
 */
function assertShortNumbers(footer: Buffer): void {
  let numberBytes = 0
  for (const byte of footer) {
    numberBytes = byte < 0x80 ? 0 : numberBytes + 1
    if (numberBytes > maxNumberBytes) throw new RangeError('a number without end')
  }
}

const createEncryptedFileProblem = () =>
  new FileProblem('PARQUET_ENCRYPTED', 'is encrypted. Write it without encryption and upload it again.')

const createTruncatedFileProblem = () =>
  new FileProblem('FILE_DAMAGED', 'is cut short: the end of a Parquet file is missing. Upload the whole file again.')

/**
 * Throws RangeError unless all fields that the reader uses have the expected types. hyparquet returns values of
 * whatever type the bytes declare.
 */
function assertFieldTypes({ schema, row_groups: groups }: FileMetaData): void {
  for (const element of schema) assertSchemaElement(element)
  for (const { columns, num_rows: rows } of groups) {
    if (typeof rows !== 'bigint' || rows < 0n) throw new RangeError('a row group has no number of rows')
    for (const column of columns) assertColumnChunk(column)
  }
}

function assertSchemaElement({ name, num_children, type_length, scale, precision, logical_type }: SchemaElement): void {
  const logicalType = { ...logical_type } as Record<string, unknown>
  const optionalIntegers = [
    num_children,
    type_length,
    scale,
    precision,
    logicalType['bitWidth'],
    logicalType['scale'],
    logicalType['precision'],
  ]
  const areIntegers = optionalIntegers.every((number) => number === undefined || Number.isInteger(number))
  if (typeof name !== 'string' || !areIntegers) throw new RangeError('a column is not described')
}

function assertColumnChunk({ meta_data: data }: ColumnChunk): void {
  // Absent if the column is encrypted or in another file.
  if (data === undefined) return
  const { num_values, total_compressed_size, data_page_offset, dictionary_page_offset = 0n } = data
  const integerFields = [num_values, total_compressed_size, data_page_offset, dictionary_page_offset]
  if (!integerFields.every((number) => typeof number === 'bigint'))
    throw new RangeError('a column has no place in the file')
}

/**
 * Returns the number of rows in the file. Throws FileProblem if a row group has an invalid row count, or if the file is
 * too small for so many rows.
 */
export function readRowCount({ metadata, size }: ParquetFile, { maxRatio, ratioExempt }: ParquetLimits): number {
  const counts = metadata.row_groups.map((group) => Number(group.num_rows))
  if (counts.some((count) => !(count >= 0 && Number.isSafeInteger(count))))
    throw damagedFileProblem('its number of rows')
  const rows = counts.reduce((sum, count) => sum + count, 0)
  if (rows > ratioExempt.rows + maxRatio * size) {
    throw new FileProblem(
      'FILE_TOO_DENSE',
      `claims ${rows} rows in ${size} bytes. The file may be malicious: check where it comes from.`,
    )
  }
  return rows
}

/** Returns the column with its `text-or-hex` leaves read as hexadecimal. */
export function toHexColumn({ column, node }: ParquetColumn): ParquetColumn {
  return { column, node: toHexNode(node) }
}

/** Returns the node with its `text-or-hex` leaves, at any depth, read as hexadecimal. */
function toHexNode(node: ParquetColumn['node']): ParquetColumn['node'] {
  const { leaf } = node
  if (!leaf) {
    const children = node.children.map(toHexNode)
    return { ...node, children, leaves: children.flatMap(({ leaves }) => leaves) }
  }
  if (leaf.type.format.name !== 'text-or-hex') return node
  const format: ValueFormat = { name: 'hex', prefix: '\\x' }
  const hexLeaf = { ...leaf, type: { ...leaf.type, format } }
  return { ...node, leaf: hexLeaf, leaves: [hexLeaf] }
}
