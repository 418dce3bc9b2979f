import type { Duplex } from 'node:stream'
import { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import { databaseProblem } from './problems.ts'

/** Bytes that no server sends before authentication ends. */
export const maxBytesBeforeSignIn = 1024 * 1024
/** The longest row that is read, with its protocol overhead. */
export const maxMessageBytes = 64 * 1024 * 1024 + 256 * 1024

type DataListener = (bytes: Buffer) => void

/**
 * Counts the bytes from a server before its driver receives them, and breaks the connection above the limit. Drivers keep the received
 * part of a message until the rest arrives, whatever length the server claims, and keep all rows of a response that is not a feed.
 */
export abstract class InboundByteLimit {
  signedIn = false
  /** Bytes of the response that a driver keeps; a feed's rows are not counted. */
  protected answer = 0
  /** Length of the arriving message, as announced by the headers so far. */
  protected message = 0
  readonly #config: DatabaseConfig
  readonly #engine: string
  readonly #headerBytes: number
  #before = 0

  constructor(headerBytes: number, config: DatabaseConfig, engine: string) {
    this.#headerBytes = headerBytes
    this.#config = config
    this.#engine = engine
  }

  /** Records the message in `message` and `answer`; returns the number of bytes before the next header. */
  protected abstract begin(header: Buffer): number

  /** Watches a stream before its driver receives the data, from the beginning of a message on. */
  watch(stream: Duplex): void {
    const [driver, ...others] = stream.listeners('data') as DataListener[]
    if (!driver || others.length > 0) throw new Error('one listener of the driver was expected')
    const header = Buffer.alloc(this.#headerBytes)
    let filled = 0
    let left = 0
    const count = (bytes: Buffer): void => {
      if (!this.signedIn) this.#before += bytes.length
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

  protected otherProtocol(): SourceProblem {
    return databaseProblem({ code: 'OTHER_PROTOCOL' }, this.#config, this.#engine)
  }

  #check(): void {
    if (!this.signedIn && this.#before > maxBytesBeforeSignIn) throw this.otherProtocol()
    if (!this.signedIn || Math.max(this.message, this.answer) <= maxMessageBytes) return
    throw messageTooLongProblem(this.#config, this.#engine)
  }
}

/** `most` is in bytes. */
export const messageTooLongProblem = (
  { host, port }: DatabaseConfig,
  engine: string,
  most = maxMessageBytes,
): SourceProblem =>
  new SourceProblem(
    'MESSAGE_TOO_LONG',
    `${engine} at ${host}, port ${port} sends more than ${Math.floor(most / 1024 / 1024)} MB in one row or one answer. Leave out the columns with such long values, or shorten them in a query.`,
  )
