import type { Socket } from 'node:net'
import type { Connection, Submittable } from 'pg'
import { setBytesHandler } from '@sluice/database'
import { UnstorableValue, valueTooLong } from '@sluice/row-stream'
import type { TupleSink } from '../database-connector/tuple-sink.ts'

/** The server sent data that is not in the binary COPY format. */
export class UnexpectedFormat extends Error {
  override readonly name = 'UnexpectedFormat'
}

type CopyListener = (bytes: Buffer) => void

const copyData = 0x64
const messageHeaderBytes = 5
/** The size in bytes of the signature, flags and extension length at the start of the binary format. */
const formatHeaderBytes = 19
const fieldCountBytes = 2
/** Up to this length, a loop copies bytes faster than `Buffer.copy`. */
const maxLoopBytes = 96
const formatSignature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')

/**
 * Reads rows with `COPY … TO STDOUT (FORMAT binary)`. Copies them from the socket's bytes to the sink's buffer, without
 * an object or driver call per row. The server sends one message per row; the driver handles all other messages.
 */
export class CopyOut implements Submittable {
  readonly done: Promise<void>
  readonly #text: string
  readonly #sink: TupleSink
  readonly #labels: readonly string[]
  readonly #completion = Promise.withResolvers<void>()
  /** The socket. Set when the driver sends the statement; undefined if the connection is lost before. */
  #socket: Socket | undefined
  #driver!: CopyListener
  /** The received bytes of an incomplete message: its header, the start of a row, or a message for the driver. */
  #incompleteMessage: Buffer | undefined
  /** The bytes of the current message that have not arrived: of a row, of a skipped row, or of a driver's message. */
  #remainingRowBytes = 0
  #remainingSkippedBytes = 0
  #remainingDriverBytes = 0
  #hasStarted = false

  /** Creates the reader. `labels` are the labels of the columns that the statement returns. */
  constructor(text: string, labels: readonly string[], sink: TupleSink) {
    this.#text = text
    this.#labels = labels
    this.#sink = sink
    this.done = this.#completion.promise
    this.done.catch(() => {})
  }

  submit(connection: Connection): void {
    const socket = connection.stream as Socket
    const listeners = socket.listeners('data') as CopyListener[]
    if (listeners.length !== 1)
      throw new Error(`Internal error: the driver pg has ${listeners.length} data listeners instead of one.`)
    this.#socket = socket
    this.#driver = listeners[0]!
    if (!setBytesHandler(socket, this.#read)) {
      socket.removeListener('data', this.#driver)
      socket.on('data', this.#read)
    }
    connection.query(this.#text)
  }

  handleError(error: Error): void {
    this.#detach()
    this.#completion.reject(error)
  }

  handleReadyForQuery(): void {
    this.#detach()
    this.#completion.resolve()
  }

  handleCommandComplete(): void {}

  /** Returns the socket's data to the driver. */
  #detach(): void {
    const socket = this.#socket
    if (!socket || setBytesHandler(socket, undefined)) return
    socket.removeListener('data', this.#read)
    if (!socket.listeners('data').includes(this.#driver)) socket.on('data', this.#driver)
  }

  /** Handles bytes of the socket. Pauses the socket while the sink is full. */
  readonly #read = (receivedBytes: Buffer): void => {
    const socket = this.#socket!
    try {
      if (this.#processBytes(receivedBytes)) return
      socket.pause()
      void this.#sink.waitForRoom().then(() => socket.resume())
    } catch (error) {
      this.#completion.reject(error)
      socket.destroy()
    }
  }

  /** Processes all received bytes. Returns false if the sink requests a pause afterwards. */
  #processBytes(receivedBytes: Buffer): boolean {
    const bytes = this.#incompleteMessage ? Buffer.concat([this.#incompleteMessage, receivedBytes]) : receivedBytes
    this.#incompleteMessage = undefined
    const end = bytes.length
    let position = this.#continueMessage(bytes)
    while (position < end) {
      if (end - position < messageHeaderBytes) {
        this.#incompleteMessage = Buffer.from(bytes.subarray(position))
        break
      }
      const length = bytes.readUInt32BE(position + 1) + 1
      const isCopyData = bytes[position] === copyData
      if (!isCopyData) {
        const driverEnd = Math.min(end, position + length)
        this.#remainingDriverBytes = position + length - driverEnd
        this.#driver(Buffer.from(bytes.subarray(position, driverEnd)))
        position = driverEnd
      } else if (this.#hasStarted) position = this.#copyRow(bytes, position + messageHeaderBytes, position + length)
      else if (end - position < Math.min(length, messageHeaderBytes + formatHeaderBytes + 4)) {
        // The header of the binary format has not arrived completely.
        this.#incompleteMessage = Buffer.from(bytes.subarray(position))
        break
      } else {
        this.#hasStarted = true
        position = this.#copyRow(bytes, skipFormatHeader(bytes, position + messageHeaderBytes), position + length)
      }
    }
    return !this.#sink.isFull
  }

  /** Continues a message that started in earlier bytes. Returns the position after the bytes that belong to it. */
  #continueMessage(bytes: Buffer): number {
    if (this.#remainingDriverBytes > 0) {
      const to = Math.min(bytes.length, this.#remainingDriverBytes)
      this.#remainingDriverBytes -= to
      this.#driver(Buffer.from(bytes.subarray(0, to)))
      return to
    }
    if (this.#remainingSkippedBytes > 0) {
      const to = Math.min(bytes.length, this.#remainingSkippedBytes)
      this.#remainingSkippedBytes -= to
      return to
    }
    if (this.#remainingRowBytes === 0) return 0
    const to = Math.min(bytes.length, this.#remainingRowBytes)
    this.#appendBytes(bytes, 0, to)
    this.#remainingRowBytes -= to
    if (this.#remainingRowBytes === 0) this.#finishRow()
    return to
  }

  /**
   * Copies a row, or the part of it that has arrived. `to` can be beyond the received bytes. Returns the position of
   * the next message.
   */
  #copyRow(bytes: Buffer, from: number, to: number): number {
    const length = to - from
    // A message without a row: the header of the format, or the field count -1 that marks the end.
    if (length <= fieldCountBytes) return to
    const { buffer } = this.#sink
    const rowEnd = Math.min(to, bytes.length)
    buffer.beginTuple()
    try {
      buffer.reserve(length)
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error
      buffer.dropRow()
      this.#sink.reject(undefined, `The row is too long: it ${error.message}.`, '')
      this.#remainingSkippedBytes = to - rowEnd
      return rowEnd
    }
    this.#appendBytes(bytes, from, rowEnd)
    this.#remainingRowBytes = to - rowEnd
    if (this.#remainingRowBytes === 0) this.#finishRow()
    return rowEnd
  }

  /** Counts a copied row. Rejects it if a value is too long. Throws `UnexpectedFormat` if it is malformed. */
  #finishRow(): void {
    const { buffer } = this.#sink
    if (!buffer.isWholeRow(this.#labels.length))
      throw new UnexpectedFormat(
        `Invalid COPY data: a row does not have ${this.#labels.length} fields, or the lengths of its fields do not add up to the length of the row.`,
      )
    const longValue = buffer.findLongValue()
    if (longValue < 0) return void this.#sink.finishRow()
    buffer.dropRow()
    this.#sink.reject(this.#labels[longValue], `The value ${valueTooLong}.`, '')
  }

  #appendBytes(source: Buffer, from: number, to: number): void {
    const { buffer } = this.#sink
    const target = buffer.bytes
    let { at: position } = buffer
    if (to - from > maxLoopBytes) {
      source.copy(target, position, from, to)
      buffer.at = position + to - from
      return
    }
    for (let index = from; index < to; index++) target[position++] = source[index]!
    buffer.at = position
  }
}

/** Returns the position after the header of the binary format. Throws `UnexpectedFormat` if it is not this format. */
function skipFormatHeader(bytes: Buffer, from: number): number {
  if (bytes.compare(formatSignature, 0, formatSignature.length, from, from + formatSignature.length) !== 0)
    throw new UnexpectedFormat('Invalid COPY data: the server did not send the binary format.')
  return from + formatHeaderBytes + bytes.readUInt32BE(from + formatHeaderBytes - 4)
}
