import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { SourceProblem } from '../../source.ts'
import { damaged, FileTrouble } from './damaged.ts'
import type { Limits } from './limits.ts'
import { assertSane } from './sane.ts'

const magic = 'PAR1'
const encryptedMagic = 'PARE'
/** Magic at the start; length and magic at the end. */
const smallest = 12
/** hyparquet reads a number of any length, in time that grows with its square; no true footer has such bytes. */
const longestNumber = 16 * 1024

/** An open file whose footer was read. */
export class ParquetFile implements Disposable {
  readonly size: number
  readonly metadata: FileMetaData
  /** Where the footer begins: no page reaches beyond. */
  readonly dataEnd: number
  readonly #fd: number
  readonly #owned: boolean
  readonly #stamp: string

  /** A descriptor in place of a path is left open. Throws FileTrouble, or SourceProblem FILE_MISSING. */
  constructor(path: string | number, fileName: string, limits: Limits) {
    this.#owned = typeof path === 'string'
    this.#fd = typeof path === 'string' ? open(path, fileName) : path
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

  /** Exactly these bytes; throws FileTrouble where the file has become shorter. */
  read(from: number, length: number, into = Buffer.allocUnsafeSlow(length)): Buffer {
    let done = 0
    while (done < length) {
      const read = readSync(this.#fd, into, done, length - done, from + done)
      if (read === 0) throw damaged('its end')
      done += read
    }
    return into.length === length ? into : into.subarray(0, length)
  }

  assertUnchanged(): void {
    if (this.#stampNow() === this.#stamp) return
    throw new FileTrouble('FILE_DAMAGED', 'changed while it was being read. Run the load again.')
  }

  [Symbol.dispose](): void {
    if (this.#owned) closeSync(this.#fd)
  }

  #stampNow(): string {
    const { size, mtimeMs } = fstatSync(this.#fd)
    return `${size} ${mtimeMs}`
  }

  #footerLength(size: number, { footerBytes }: Limits): number {
    if (size === 0) throw new FileTrouble('FILE_EMPTY', 'is empty. Upload a file with data.')
    const head = this.read(0, Math.min(4, size)).toString('latin1')
    if (head === encryptedMagic) throw encrypted()
    if (head !== magic) {
      throw new FileTrouble('NOT_PARQUET', 'is no Parquet file. Upload one, or use a pipeline for the format it has.')
    }
    if (size < smallest) throw cutShort()
    const tail = this.read(size - 8, 8)
    const end = tail.toString('latin1', 4)
    if (end === encryptedMagic) throw encrypted()
    if (end !== magic) throw cutShort()
    const length = tail.readUInt32LE(0)
    if (length > size - smallest) throw damaged('its footer')
    if (length > footerBytes) {
      throw new FileTrouble(
        'PARQUET_NOT_SUPPORTED',
        `has a footer of ${length} bytes; up to ${footerBytes} are read. Write it with larger row groups.`,
      )
    }
    return length
  }
}

function open(path: string, fileName: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new SourceProblem('FILE_MISSING', `${fileName} is not there any more. Upload it again.`, { cause })
  }
}

function readMetadata(footer: Buffer): FileMetaData {
  try {
    refuseEndlessNumbers(footer)
    // The geometry columns of GeoParquet are kept as their bytes, so their marks are not needed.
    const metadata = parquetMetadata(new Uint8Array(footer), { geoparquet: false, parsers: plainParsers })
    assertSane(metadata)
    return metadata
  } catch (cause) {
    throw damaged('its footer', cause)
  }
}

/** Statistics are not used: nothing is made of their bytes, so odd ones cannot fail. */
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

const encrypted = () =>
  new FileTrouble('PARQUET_ENCRYPTED', 'is encrypted. Write it without encryption and upload it again.')

const cutShort = () =>
  new FileTrouble('FILE_DAMAGED', 'is cut short: the end of a Parquet file is missing. Upload the whole file again.')
