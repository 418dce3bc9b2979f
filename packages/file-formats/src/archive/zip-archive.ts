import { crc32, createInflateRaw } from 'node:zlib'
import { type Entry, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { SourceProblem } from '@sluice/row-stream'
import type { ByteSource, FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'
import { damagedArchiveProblem, decompressChunks } from './decompress.ts'

const storedMethod = 0
const deflatedMethod = 8

/**
 * Reads the entries of a ZIP archive in an open file. Entry names are never used as paths for writing, so they cannot
 * overwrite files.
 */
export class ZipArchive {
  readonly name: string
  /**
   * The entries that are files, by name. Of several entries with the same name, the last one counts, as in other tools.
   */
  readonly entries = new Map<string, Entry>()
  readonly #zip: ZipFile
  readonly #file: FileBytes
  readonly #limits: UploadLimits

  private constructor(zip: ZipFile, file: FileBytes, name: string, limits: UploadLimits) {
    this.#zip = zip
    this.#file = file
    this.name = name
    this.#limits = limits
  }

  /**
   * Reads the central directory. Throws SourceProblem ARCHIVE_DAMAGED, ARCHIVE_TOO_MANY_ENTRIES or SUSPICIOUS_ARCHIVE.
   */
  static async open(file: FileBytes, name: string, limits: UploadLimits): Promise<ZipArchive> {
    try {
      // Names are decoded below. yauzl would reject the whole archive because of one invalid name, without saying
      // which.
      const zip = await fromFdPromise(file.descriptor, { autoClose: false, decodeStrings: false })
      if (zip.entryCount > limits.entries) throw tooManyEntriesProblem(name, zip.entryCount, limits.entries)
      const archive = new ZipArchive(zip, file, name, limits)
      for await (const entry of zip.eachEntry()) archive.#add(entry)
      return archive
    } catch (cause) {
      if (cause instanceof SourceProblem) throw cause
      throw damagedArchiveProblem(
        name,
        `is not a complete ZIP archive (${(cause as Error).message}); upload it again`,
        cause,
      )
    }
  }

  /** Returns the contents of an entry, and verifies its size and checksum. Throws SourceProblem at the first error. */
  bytes(entryName: string): ByteSource {
    const entry = this.entries.get(entryName)!
    return { chunks: () => this.#read(entry, `${entryName} in ${this.name}`) }
  }

  /**
   * Adds an entry unless it is a folder. Throws SourceProblem SUSPICIOUS_ARCHIVE if its path leads out of the archive.
   */
  #add(entry: Entry): void {
    const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false)
    const leadsOutside = /(^|[\\/])\.\.([\\/]|$)|^[\\/]|^[a-z]:/i.test(name)
    if (leadsOutside || name.includes('\0')) throw outsidePathProblem(this.name, name)
    const isFolder = name.endsWith('/')
    if (!isFolder) this.entries.set(name, entry)
  }

  /**
   * Yields the contents of an entry, and verifies its size and checksum. Throws SourceProblem ARCHIVE_ENCRYPTED,
   * NOT_SUPPORTED, ARCHIVE_DAMAGED, TOO_LARGE or SUSPICIOUS_ARCHIVE.
   */
  async *#read(entry: Entry, name: string): AsyncGenerator<Buffer, void, void> {
    if (entry.isEncrypted()) {
      const text = `${name} is protected with a password; pack it without one and upload it again.`
      throw new SourceProblem('ARCHIVE_ENCRYPTED', text)
    }
    const { compressionMethod: method, uncompressedSize } = entry
    if (method !== storedMethod && method !== deflatedMethod) {
      const text = `${name} uses the compression method ${method}, which is not supported. Create an ordinary ZIP archive.`
      throw new SourceProblem('NOT_SUPPORTED', text)
    }
    const compressedBytes = await this.#compressedBytes(entry, name)
    let readBytes = 0
    let checksum = 0
    const inflate = () =>
      decompressChunks(compressedBytes, createInflateRaw({ chunkSize: this.#limits.chunkBytes }), name, this.#limits)
    const chunks = method === storedMethod ? compressedBytes.chunks() : inflate()
    for await (const chunk of chunks) {
      readBytes += chunk.length
      checksum = crc32(chunk, checksum)
      if (readBytes > uncompressedSize)
        throw damagedArchiveProblem(name, 'is longer than the archive says; create the archive again')
      yield chunk
    }
    if (readBytes !== uncompressedSize)
      throw damagedArchiveProblem(name, 'is shorter than the archive says; upload it again')
    if (checksum !== entry.crc32)
      throw damagedArchiveProblem(name, 'is damaged: its checksum is wrong; upload it again')
  }

  /** Returns the part of the archive with an entry's data. Throws SourceProblem ARCHIVE_DAMAGED. */
  async #compressedBytes(entry: Entry, name: string): Promise<FileBytes> {
    try {
      const { fileDataStart } = await this.#zip.readLocalFileHeaderPromise(entry, { minimal: true })
      return this.#file.part(fileDataStart, fileDataStart + entry.compressedSize)
    } catch (cause) {
      throw damagedArchiveProblem(
        name,
        `cannot be found in the archive (${(cause as Error).message}); upload it again`,
        cause,
      )
    }
  }
}

const tooManyEntriesProblem = (name: string, entries: number, limit: number) =>
  new SourceProblem(
    'ARCHIVE_TOO_MANY_ENTRIES',
    `${name} has ${entries} entries, but at most ${limit} are allowed. Split the archive.`,
  )

const outsidePathProblem = (name: string, entry: string) =>
  new SourceProblem(
    'SUSPICIOUS_ARCHIVE',
    `${name} holds an entry with a path outside of the archive (${JSON.stringify(entry.slice(0, 200))}). Create the archive again without this entry.`,
  )
