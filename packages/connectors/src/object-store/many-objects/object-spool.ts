import { hash } from 'node:crypto'
import { closeSync, read } from 'node:fs'
import { promisify } from 'node:util'
import type { TextSegment } from '@sluice/file-formats/csv/similar-texts'
import { detectFormat, detectionBytes } from '@sluice/file-formats/format/detect-format'
import { openSpool, spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import type { ReadReporter } from '@sluice/row-stream'
import {
  ContentEncoded,
  type DownloadLimits,
  defaultDownloadLimits,
  downloadObject,
  downloadStoredBytes,
  type ObjectDownload,
  writeCompletely,
} from '../download-object.ts'
import type { StoredObject } from '../object-store.ts'
import { prefetchInOrder } from './prefetch-in-order.ts'
import { createDownload, fetchObject, type LocalObject, type ObjectReading } from '../read-object.ts'

/** The number of objects that are downloaded in parallel. */
const parallelObjects = 16
/**
 * Objects up to this size are collected in memory and written to the spool file together, because writing each one
 * alone takes longer than downloading it.
 */
const maxCollectedBytes = 128 * 1024
const blockBytes = 1024 * 1024

const readAt = promisify(read)

/** A downloaded object: the position and length of its bytes in the spool file. */
interface SpooledObject extends TextSegment {
  /**
   * A hash of the first line, for a delimited text in UTF-8. It saves memory, because headers can be long. Undefined
   * for other formats.
   */
  firstLineHash?: string
}

/**
 * Stores the downloaded objects of a load in one unnamed file, so that many small objects need neither many files nor a
 * second download.
 */
export class ObjectSpool implements Disposable {
  readonly fd: number
  readonly #reading: ObjectReading
  readonly #limits: DownloadLimits
  readonly #log: ReadReporter['log']
  readonly #spooled = new Map<string, SpooledObject>()
  #size = 0
  /** Small objects that are not written yet. `from` is the block's position in the spool file. */
  #block = { from: 0, bytes: Buffer.alloc(0) as Buffer, used: 0 }
  /** Memory for blocks and small objects, which is reused. New memory for each of them would wait for a garbage collection. */
  readonly #blockMemory = new BufferPool(blockBytes)
  readonly #objectMemory = new BufferPool(maxCollectedBytes)

  private constructor(reading: ObjectReading, log: ReadReporter['log']) {
    this.#reading = reading
    this.#limits = reading.limits ?? defaultDownloadLimits
    this.#log = log
    this.fd = openSpool(spoolDirectory(reading.filesDirectory))
  }

  /**
   * Downloads objects in their order until the spool file is full. `onProgress` receives the total of downloaded bytes.
   * Throws OBJECT_CHANGED, DISK_FULL, errors of the store and of `detectFormat`, or the signal's reason.
   */
  static async download(
    reading: ObjectReading,
    objects: readonly StoredObject[],
    log: ReadReporter['log'],
    onProgress: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<ObjectSpool> {
    const spool = new ObjectSpool(reading, log)
    try {
      await spool.#downloadAll(objects, onProgress, signal)
      return spool
    } catch (error) {
      spool[Symbol.dispose]()
      throw error
    }
  }

  find(object: StoredObject): SpooledObject | undefined {
    return this.#spooled.get(object.key)
  }

  /** Returns an object in a file of its own: a copy of its bytes in the spool file, or a new download. */
  async open(object: StoredObject, signal: AbortSignal): Promise<LocalObject> {
    const spooled = this.find(object)
    if (!spooled) return fetchObject(this.#reading, object, { log: this.#log }, signal)
    const size = spooled.to - spooled.from
    const fd = openSpool(spoolDirectory(this.#reading.filesDirectory))
    try {
      await copyPart({ fd: this.fd, position: spooled.from }, { fd, position: 0 }, size, signal)
      return { object, fd, size, [Symbol.dispose]: () => closeSync(fd) }
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.fd)
  }

  async #downloadAll(
    objects: readonly StoredObject[],
    onProgress: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { partBytes, concurrency, spoolBytes } = this.#limits
    const parallelBytes = partBytes * concurrency
    const fittingObjects = findFittingObjects(objects, spoolBytes)
    const bytesByObject = fittingObjects.map(() => 0)
    let totalBytes = 0
    const load = async (index: number, loadSignal: AbortSignal): Promise<Disposable> => {
      const onObjectProgress = (bytes: number) => {
        totalBytes += bytes - bytesByObject[index]!
        bytesByObject[index] = bytes
        onProgress(totalBytes)
      }
      await this.#downloadOne(fittingObjects[index]!, onObjectProgress, loadSignal)
      return { [Symbol.dispose]() {} }
    }
    // A large object is downloaded in parallel parts, so it counts as several objects.
    const weights = fittingObjects.map(({ size }) => Math.min(size, parallelBytes))
    const maxAhead = { things: parallelObjects, weight: parallelBytes }
    for await (const _ of prefetchInOrder({ weights, maxAhead, load }, signal));
    await this.#writeBlock()
  }

  async #downloadOne(object: StoredObject, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<void> {
    const download = createDownload(this.#reading, object, this.fd, { log: this.#log, onProgress })
    try {
      if (object.size <= maxCollectedBytes) await this.#downloadSmall(object, download, signal)
      else {
        const position = this.#allocate(object.size)
        await downloadStoredBytes({ ...download, position }, signal)
        this.#add(object, position, await this.#readStart(position, object.size))
      }
    } catch (error) {
      if (!(error instanceof ContentEncoded)) throw error
      await this.#downloadDecompressed(object, onProgress, signal)
    }
  }

  async #downloadSmall(object: StoredObject, download: ObjectDownload, signal: AbortSignal): Promise<void> {
    const buffer = this.#objectMemory.take()
    try {
      const memory = buffer.subarray(0, object.size)
      await downloadStoredBytes({ ...download, memory }, signal)
      this.#add(object, await this.#collect(memory), memory)
    } finally {
      this.#objectMemory.giveBack(buffer)
    }
  }

  /**
   * Downloads an object that the HTTP client decompresses. Its size is known only afterwards. Leaves it out if the
   * spool file is full.
   */
  async #downloadDecompressed(
    object: StoredObject,
    onProgress: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const fd = openSpool(spoolDirectory(this.#reading.filesDirectory))
    try {
      const size = await downloadObject(
        createDownload(this.#reading, object, fd, { log: this.#log, onProgress }),
        signal,
      )
      if (this.#size + size > this.#limits.spoolBytes) return
      const from = this.#allocate(size)
      await copyPart({ fd, position: 0 }, { fd: this.fd, position: from }, size, signal)
      this.#add({ ...object, size }, from, await this.#readStart(from, size))
    } finally {
      closeSync(fd)
    }
  }

  #allocate(size: number): number {
    const from = this.#size
    this.#size += size
    return from
  }

  /** Copies a small object into the current block. Returns its position in the spool file. */
  async #collect(bytes: Buffer): Promise<number> {
    const fullBlock = this.#block.bytes.length - this.#block.used < bytes.length ? this.#block : undefined
    if (fullBlock) this.#block = { from: this.#allocate(blockBytes), bytes: this.#blockMemory.take(), used: 0 }
    const { from, used: usedBytes } = this.#block
    this.#block.bytes.set(bytes, usedBytes)
    this.#block.used += bytes.length
    if (fullBlock) await this.#writeBlock(fullBlock)
    return from + usedBytes
  }

  async #writeBlock({ from, bytes, used: usedBytes } = this.#block): Promise<void> {
    await writeCompletely(this.fd, bytes.subarray(0, usedBytes), from)
    this.#blockMemory.giveBack(bytes)
  }

  async #readStart(position: number, size: number): Promise<Buffer> {
    const start = Buffer.allocUnsafe(Math.min(size, detectionBytes))
    const { bytesRead } = await readAt(this.fd, start, 0, start.length, position)
    return start.subarray(0, bytesRead)
  }

  /** Registers a downloaded object. `start` contains at least its first `detectionBytes` bytes. */
  #add({ key, size }: StoredObject, from: number, start: Buffer): void {
    const bytes = start.subarray(0, detectionBytes)
    const content = detectFormat(bytes, key, this.#reading.options.encoding)
    const isText = content.kind === 'TEXT' && content.encoding === 'utf-8'
    const firstLineHash = isText ? { firstLineHash: hashFirstLine(bytes.subarray(content.skip)) } : {}
    this.#spooled.set(key, { name: key, from, to: from + size, ...firstLineHash })
  }
}

/** Memory of one size that is used repeatedly. */
class BufferPool {
  readonly #bytes: number
  readonly #free: Buffer[] = []

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  giveBack(buffer: Buffer): void {
    if (buffer.length === this.#bytes) this.#free.push(buffer)
  }
}

/** Returns the first objects that together fit into `spoolBytes` bytes. */
function findFittingObjects(objects: readonly StoredObject[], spoolBytes: number): StoredObject[] {
  let bytes = 0
  return objects.filter(({ size }) => {
    if (bytes + size > spoolBytes) return false
    bytes += size
    return true
  })
}

function hashFirstLine(bytes: Buffer): string {
  const end = bytes.findIndex((byte) => byte === 10 || byte === 13)
  return hash('sha256', end < 0 ? bytes : bytes.subarray(0, end), 'base64')
}

interface FilePosition {
  fd: number
  position: number
}

async function copyPart(from: FilePosition, to: FilePosition, size: number, signal: AbortSignal): Promise<void> {
  const memory = Buffer.allocUnsafe(Math.min(size, blockBytes))
  for (let copied = 0; copied < size; ) {
    signal.throwIfAborted()
    const length = Math.min(memory.length, size - copied)
    const { bytesRead } = await readAt(from.fd, memory, 0, length, from.position + copied)
    if (bytesRead === 0) throw new Error('The file ended before the object')
    await writeCompletely(to.fd, memory.subarray(0, bytesRead), to.position + copied)
    copied += bytesRead
  }
}
