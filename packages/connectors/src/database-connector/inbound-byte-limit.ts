import type { Duplex } from 'node:stream'
import { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import { databaseProblem } from './problems.ts'

/** Bytes that no server sends before authentication ends. */
const maxBytesBeforeSignIn = 1024 * 1024
/** The longest row that is read, with its protocol overhead. */
export const maxMessageBytes = 64 * 1024 * 1024 + 256 * 1024

/**
 * Limits the bytes that a driver keeps in memory. Drivers keep the received part of a message until the rest arrives,
 * whatever length the server claims, and all rows of a response that is not read row by row.
 */
export class InboundByteLimit {
  isSignedIn = false
  readonly #config: DatabaseConfig
  readonly #engine: string

  constructor(config: DatabaseConfig, engine: string) {
    this.#config = config
    this.#engine = engine
  }

  /** Returns the reason to break the connection, if any. `bytes` counts all bytes before sign-in, then those that the driver keeps. */
  findProblem(bytes: number, maxBytes = maxMessageBytes): SourceProblem | undefined {
    if (!this.isSignedIn) return bytes > maxBytesBeforeSignIn ? this.otherProtocol() : undefined
    if (bytes <= maxBytes) return undefined
    const { host, port } = this.#config
    return new SourceProblem(
      'MESSAGE_TOO_LONG',
      `${this.#engine} at ${host}, port ${port} sends more than ${Math.floor(maxBytes / 1024 / 1024)} MB in one row or one answer. Leave out the columns with such long values, or shorten them in a query.`,
    )
  }

  otherProtocol(): SourceProblem {
    return databaseProblem({ code: 'OTHER_PROTOCOL' }, this.#config, this.#engine)
  }
}

type DataListener = (bytes: Buffer) => void

/** Reads the headers of a protocol's messages before the driver receives them, and destroys the stream above the limit. */
export abstract class FramedByteLimit extends InboundByteLimit {
  /** Bytes of the response that the driver keeps. */
  protected response = 0
  /** Length of the arriving message, as announced by the headers so far. */
  protected message = 0
  readonly #headerBytes: number
  #bytesBeforeSignIn = 0

  constructor(headerBytes: number, config: DatabaseConfig, engine: string) {
    super(config, engine)
    this.#headerBytes = headerBytes
  }

  /** Records the message in `message` and `response`. Returns the number of bytes before the next header. */
  protected abstract begin(header: Buffer): number

  /** Watches a stream from the beginning of a message on. */
  watch(stream: Duplex): void {
    const [driver, ...others] = stream.listeners('data') as DataListener[]
    if (!driver || others.length > 0) throw new Error('one listener of the driver was expected')
    const header = Buffer.alloc(this.#headerBytes)
    let filled = 0
    let left = 0
    const count = (bytes: Buffer): void => {
      if (!this.isSignedIn) this.#bytesBeforeSignIn += bytes.length
      this.#check()
      for (let at = 0; at < bytes.length; ) {
        if (left > 0) {
          const step = Math.min(left, bytes.length - at)
          left -= step
          at += step
          continue
        }
        header[filled++] = bytes[at++]!
        if (filled < header.length) continue
        filled = 0
        left = this.begin(header)
        this.#check()
      }
    }
    stream.removeListener('data', driver)
    stream.on('data', (bytes: Buffer) => {
      try {
        count(bytes)
      } catch (error) {
        stream.destroy(error as Error)
        return
      }
      driver(bytes)
    })
  }

  #check(): void {
    const kept = Math.max(this.message, this.response)
    const problem = this.findProblem(this.isSignedIn ? kept : this.#bytesBeforeSignIn)
    if (problem) throw problem
  }
}
