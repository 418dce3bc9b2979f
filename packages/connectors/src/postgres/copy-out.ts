import type { Socket } from 'node:net'
import type { Connection, Submittable } from 'pg'
import { setBytesHandler } from '@sluice/database'
import { UnstorableValue, valueTooLong } from '@sluice/row-stream'
import type { TupleSink } from '../database-connector/tuple-sink.ts'

export class UnexpectedFormat extends Error {
  override readonly name = 'OtherFormat'
}

type CopyListener = (bytes: Buffer) => void

const copyData = 0x64
const messageHeader = 5
/** The size in bytes of the signature, flags and extension length at the start of the binary format. */
const formatHeader = 19
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
  #rowLeft = 0
  #skipLeft = 0
  #driverBytesLeft = 0
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

  #detach(): void {
    const socket = this.#socket
    if (!socket || setBytesHandler(socket, undefined)) return
    socket.removeListener('data', this.#read)
    if (!socket.listeners('data').includes(this.#driver)) socket.on('data', this.#driver)
  }

  readonly #read = (given: Buffer): void => {
    const socket = this.#socket!
    try {
      if (this.#processBytes(given)) return
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
    let position = this.#finishCut(bytes)
    while (position < end) {
      if (end - position < messageHeader) {
        this.#incompleteMessage = Buffer.from(bytes.subarray(position))
        break
      }
      const length = bytes.readUInt32BE(position + 1) + 1
      if (bytes[position] !== copyData) {
        const driverEnd = Math.min(end, position + length)
        this.#driverBytesLeft = position + length - driverEnd
        this.#driver(Buffer.from(bytes.subarray(position, driverEnd)))
        position = driverEnd
      } else if (this.#hasStarted) position = this.#row(bytes, position + messageHeader, position + length)
      else if (end - position < Math.min(length, messageHeader + formatHeader + 4)) {
        this.#incompleteMessage = Buffer.from(bytes.subarray(position))
        break
      } else {
        this.#hasStarted = true
        position = this.#row(bytes, skipFormatHeader(bytes, position + messageHeader), position + length)
      }
    }
    return !this.#sink.isFull
  }

  /** Completes a message that started in earlier bytes. Returns the position of its end. */
  #finishCut(bytes: Buffer): number {
    if (this.#driverBytesLeft > 0) {
      const to = Math.min(bytes.length, this.#driverBytesLeft)
      this.#driverBytesLeft -= to
      this.#driver(Buffer.from(bytes.subarray(0, to)))
      return to
    }
    if (this.#skipLeft > 0) {
      const to = Math.min(bytes.length, this.#skipLeft)
      this.#skipLeft -= to
      return to
    }
    if (this.#rowLeft === 0) return 0
    const to = Math.min(bytes.length, this.#rowLeft)
    this.#copy(bytes, 0, to)
    this.#rowLeft -= to
    if (this.#rowLeft === 0) this.#endRow()
    return to
  }

  /**
   * Copies a row, or the part of it that has arrived. `to` can be beyond the received bytes. Returns the position of
   * the next message.
   */
  #row(bytes: Buffer, from: number, to: number): number {
    const length = to - from
    // A message without a row: the header of the format, or the field count -1 that marks the end.
    if (length <= 2) return to
    const { buffer } = this.#sink
    const rowEnd = Math.min(to, bytes.length)
    buffer.beginTuple()
    try {
      buffer.reserve(length)
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error
      buffer.dropRow()
      this.#sink.reject(undefined, `The row is too long: it ${error.message}.`, '')
      this.#skipLeft = to - rowEnd
      return rowEnd
    }
    this.#copy(bytes, from, rowEnd)
    this.#rowLeft = to - rowEnd
    if (this.#rowLeft === 0) this.#endRow()
    return rowEnd
  }

  /** Counts a copied row. Rejects it if a value is too long. Throws `UnexpectedFormat` if it is malformed. */
  #endRow(): void {
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

  #copy(source: Buffer, from: number, to: number): void {
    const { buffer } = this.#sink
    const target = buffer.bytes
    let { at: position } = buffer
    if (to - from > 96) {
      source.copy(target, position, from, to)
      buffer.at = position + to - from
      return
    }
    for (let index = from; index < to; index++) target[position++] = source[index]!
    buffer.at = position
  }
}

function skipFormatHeader(bytes: Buffer, from: number): number {
  if (bytes.compare(formatSignature, 0, formatSignature.length, from, from + formatSignature.length) !== 0)
    throw new UnexpectedFormat('Invalid COPY data: the server did not send the binary format.')
  return from + formatHeader + bytes.readUInt32BE(from + formatHeader - 4)
}
