import type { Duplex } from 'node:stream'
import { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import { createDatabaseProblem } from './database-problems.ts'

/** The maximum bytes that a server may send before login is complete. A real database sends far fewer. */
const maxBytesBeforeSignIn = 1024 * 1024
/** The maximum bytes of a row, including protocol overhead. */
export const maxMessageBytes = 64 * 1024 * 1024 + 256 * 1024

/**
 * Limits the memory that a malicious server can make a driver use. A driver buffers an incomplete message of any
 * announced length, and all rows of a response that it does not deliver one by one.
 */
export class InboundByteLimit {
  isSignedIn = false
  readonly #config: DatabaseConfig
  readonly #engine: string

  constructor(config: DatabaseConfig, engine: string) {
    this.#config = config
    this.#engine = engine
  }

  /**
   * Returns the problem if the connection must be closed. Before login, `bytes` counts everything received; afterwards,
   * only what the driver holds in memory.
   */
  findProblem(bytes: number, maxBytes = maxMessageBytes): SourceProblem | undefined {
    if (!this.isSignedIn) return bytes > maxBytesBeforeSignIn ? this.createOtherProtocolProblem() : undefined
    if (bytes <= maxBytes) return undefined
    const { host, port } = this.#config
    return new SourceProblem(
      'MESSAGE_TOO_LONG',
      `${this.#engine} at ${host}, port ${port} sent more than ${Math.floor(maxBytes / 1024 / 1024)} MB in one row or one response. Leave out the columns with such long values, or shorten the values in a query.`,
    )
  }

  createOtherProtocolProblem(): SourceProblem {
    return createDatabaseProblem({ code: 'OTHER_PROTOCOL' }, this.#config, this.#engine)
  }
}

type DataListener = (bytes: Buffer) => void

/**
 * Parses a protocol's message headers before the driver receives the data. Destroys the stream if a message exceeds the
 * limit.
 */
export abstract class FramedByteLimit extends InboundByteLimit {
  /** Bytes of the current response that the driver holds in memory. */
  protected responseBytes = 0
  /** The length of the current message according to its header. */
  protected messageBytes = 0
  readonly #headerBytes: number
  #bytesBeforeSignIn = 0

  constructor(headerBytes: number, config: DatabaseConfig, engine: string) {
    super(config, engine)
    this.#headerBytes = headerBytes
  }

  /** Updates `messageBytes` and `responseBytes` from a header. Returns the number of bytes until the next header. */
  protected abstract recordHeader(header: Buffer): number

  /**
   * Inserts the check between the stream and the driver's data listener. Call it when the next received byte is the
   * start of a message.
   */
  watch(stream: Duplex): void {
    const [driver, ...otherListeners] = stream.listeners('data') as DataListener[]
    if (!driver || otherListeners.length > 0)
      throw new Error('Internal error: the stream must have one data listener, that of the driver.')
    const header = Buffer.alloc(this.#headerBytes)
    let filledHeaderBytes = 0
    let remainingMessageBytes = 0
    const countBytes = (bytes: Buffer): void => {
      if (!this.isSignedIn) this.#bytesBeforeSignIn += bytes.length
      this.#check()
      for (let position = 0; position < bytes.length; ) {
        if (remainingMessageBytes > 0) {
          const step = Math.min(remainingMessageBytes, bytes.length - position)
          remainingMessageBytes -= step
          position += step
          continue
        }
        header[filledHeaderBytes++] = bytes[position++]!
        if (filledHeaderBytes < header.length) continue
        filledHeaderBytes = 0
        remainingMessageBytes = this.recordHeader(header)
        this.#check()
      }
    }
    stream.removeListener('data', driver)
    stream.on('data', (bytes: Buffer) => {
      try {
        countBytes(bytes)
      } catch (error) {
        stream.destroy(error as Error)
        return
      }
      driver(bytes)
    })
  }

  #check(): void {
    const bufferedBytes = Math.max(this.messageBytes, this.responseBytes)
    const problem = this.findProblem(this.isSignedIn ? bufferedBytes : this.#bytesBeforeSignIn)
    if (problem) throw problem
  }
}
