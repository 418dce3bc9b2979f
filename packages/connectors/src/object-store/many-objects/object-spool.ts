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
import { createDownload, fetchObject, type LocalObject, type ObjectReadContext } from '../read-object.ts'

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

/** Bytes to write to the spool file together. `from` is their position in the file. */
interface SpoolBlock {
  from: number
  bytes: Buffer
  usedBytes: number
}

/**
 * Stores the downloaded objects of a load in one unnamed file, so that many small objects need neither many files nor a
 * second download.
 */
export class ObjectSpool implements Disposable {
  readonly fd: number
  readonly #context: ObjectReadContext
  readonly #limits: DownloadLimits
  readonly #log: ReadReporter['log']
  readonly #spooled = new Map<string, SpooledObject>()
  #size = 0
  /** Small objects that are not written yet. */
  #block: SpoolBlock = { from: 0, bytes: Buffer.alloc(0), usedBytes: 0 }
  /** Memory for blocks and small objects, which is reused. New memory for each of them would wait for a garbage collection. */
  readonly #blockMemory = new BufferPool(blockBytes)
  readonly #objectMemory = new BufferPool(maxCollectedBytes)

  private constructor(context: ObjectReadContext, log: ReadReporter['log']) {
    this.#context = context
    this.#limits = context.limits ?? defaultDownloadLimits
    this.#log = log
    this.fd = openSpool(spoolDirectory(context.filesDirectory))
  }

  /**
   * Downloads objects in their order until the spool file is full. `onProgress` receives the total of downloaded bytes.
   * Throws OBJECT_CHANGED, DISK_FULL, errors of the store and of `detectFormat`, or the signal's reason.
   */
  static async download(
    context: ObjectReadContext,
    objects: readonly StoredObject[],
    log: ReadReporter['log'],
    onProgress: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<ObjectSpool> {
    const spool = new ObjectSpool(context, log)
    try {
      await spool.#downloadAll(objects, onProgress, signal)
      return spool
    } catch (error) {
      spool[Symbol.dispose]()
      throw error
    }
  }

  /** Returns the position of an object in the spool file, or undefined if the object did not fit. */
  find(object: StoredObject): SpooledObject | undefined {
    return this.#spooled.get(object.key)
  }

  /** Returns an object in a file of its own: a copy of its bytes in the spool file, or a new download. */
  async open(object: StoredObject, signal: AbortSignal): Promise<LocalObject> {
    const spooled = this.find(object)
    if (!spooled) return fetchObject(this.#context, object, { log: this.#log }, signal)
    const size = spooled.to - spooled.from
    const fd = openSpool(spoolDirectory(this.#context.filesDirectory))
    try {
      await copyBytes({ fd: this.fd, position: spooled.from }, { fd, position: 0 }, size, signal)
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
    const download = async (index: number, downloadSignal: AbortSignal): Promise<Disposable> => {
      const onObjectProgress = (bytes: number) => {
        totalBytes += bytes - bytesByObject[index]!
        bytesByObject[index] = bytes
        onProgress(totalBytes)
      }
      await this.#downloadOne(fittingObjects[index]!, onObjectProgress, downloadSignal)
      return { [Symbol.dispose]() {} }
    }
    // A large object is downloaded in parallel parts, so it counts as several objects.
    const weights = fittingObjects.map(({ size }) => Math.min(size, parallelBytes))
    const maxAhead = { items: parallelObjects, weight: parallelBytes }
    for await (const _ of prefetchInOrder({ weights, maxAhead, load: download }, signal));
    await this.#writeBlock(this.#block)
  }

  async #downloadOne(object: StoredObject, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<void> {
    const download = createDownload(this.#context, object, this.fd, { log: this.#log, onProgress })
    try {
      if (object.size <= maxCollectedBytes) await this.#downloadSmall(object, download, signal)
      else {
        const position = this.#allocate(object.size)
        await downloadStoredBytes({ ...download, position }, signal)
        this.#register(object, position, await this.#readStart(position, object.size))
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
      this.#register(object, await this.#addToBlock(memory), memory)
    } finally {
      this.#objectMemory.putBack(buffer)
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
    const fd = openSpool(spoolDirectory(this.#context.filesDirectory))
    try {
      const size = await downloadObject(
        createDownload(this.#context, object, fd, { log: this.#log, onProgress }),
        signal,
      )
      if (this.#size + size > this.#limits.spoolBytes) return
      const from = this.#allocate(size)
      await copyBytes({ fd, position: 0 }, { fd: this.fd, position: from }, size, signal)
      this.#register({ ...object, size }, from, await this.#readStart(from, size))
    } finally {
      closeSync(fd)
    }
  }

  /** Reserves bytes at the end of the spool file. Returns their position. */
  #allocate(size: number): number {
    const from = this.#size
    this.#size += size
    return from
  }

  /** Copies a small object into the current block. Returns its position in the spool file. */
  async #addToBlock(bytes: Buffer): Promise<number> {
    const previousBlock = this.#block
    const isFull = previousBlock.bytes.length - previousBlock.usedBytes < bytes.length
    if (isFull) this.#block = { from: this.#allocate(blockBytes), bytes: this.#blockMemory.take(), usedBytes: 0 }
    const block = this.#block
    const position = block.from + block.usedBytes
    block.bytes.set(bytes, block.usedBytes)
    block.usedBytes += bytes.length
    // Writes the full block only now, because other downloads may add objects to the new block during the write.
    if (isFull) await this.#writeBlock(previousBlock)
    return position
  }

  /** Writes a block to the spool file, and reuses its memory. */
  async #writeBlock({ from, bytes, usedBytes }: SpoolBlock): Promise<void> {
    await writeCompletely(this.fd, bytes.subarray(0, usedBytes), from)
    this.#blockMemory.putBack(bytes)
  }

  /** Reads the bytes of an object from which its format is detected. */
  async #readStart(position: number, size: number): Promise<Buffer> {
    const start = Buffer.allocUnsafe(Math.min(size, detectionBytes))
    const { bytesRead } = await readAt(this.fd, start, 0, start.length, position)
    return start.subarray(0, bytesRead)
  }

  /** Registers a downloaded object. `start` contains at least its first `detectionBytes` bytes. */
  #register({ key, size }: StoredObject, from: number, start: Buffer): void {
    const bytes = start.subarray(0, detectionBytes)
    const content = detectFormat(bytes, key, this.#context.options.encoding)
    const isText = content.kind === 'TEXT' && content.encoding === 'utf-8'
    const firstLineHash = isText ? { firstLineHash: hashFirstLine(bytes.subarray(content.skip)) } : {}
    this.#spooled.set(key, { name: key, from, to: from + size, ...firstLineHash })
  }
}

/** Memory of one size that is used repeatedly. */
class BufferPool {
  readonly #bufferBytes: number
  readonly #freeBuffers: Buffer[] = []

  constructor(bufferBytes: number) {
    this.#bufferBytes = bufferBytes
  }

  take(): Buffer {
    return this.#freeBuffers.pop() ?? Buffer.allocUnsafeSlow(this.#bufferBytes)
  }

  /** Makes a buffer available again. Ignores a buffer of another size, such as an empty one. */
  putBack(buffer: Buffer): void {
    if (buffer.length === this.#bufferBytes) this.#freeBuffers.push(buffer)
  }
}

/** Returns the objects, in their order, that fit into `spoolBytes` bytes. Leaves out an object that does not fit. */
function findFittingObjects(objects: readonly StoredObject[], spoolBytes: number): StoredObject[] {
  let totalBytes = 0
  return objects.filter(({ size }) => {
    if (totalBytes + size > spoolBytes) return false
    totalBytes += size
    return true
  })
}

const lineFeedByte = 0x0a
const carriageReturn = 0x0d

function hashFirstLine(bytes: Buffer): string {
  const end = bytes.findIndex((byte) => byte === lineFeedByte || byte === carriageReturn)
  return hash('sha256', end < 0 ? bytes : bytes.subarray(0, end), 'base64')
}

interface FilePosition {
  fd: number
  position: number
}

async function copyBytes(from: FilePosition, to: FilePosition, size: number, signal: AbortSignal): Promise<void> {
  const memory = Buffer.allocUnsafe(Math.min(size, blockBytes))
  let copied = 0
  while (copied < size) {
    signal.throwIfAborted()
    const length = Math.min(memory.length, size - copied)
    const { bytesRead } = await readAt(from.fd, memory, 0, length, from.position + copied)
    if (bytesRead === 0) throw new Error('The file ended before the object')
    await writeCompletely(to.fd, memory.subarray(0, bytesRead), to.position + copied)
    copied += bytesRead
  }
}
