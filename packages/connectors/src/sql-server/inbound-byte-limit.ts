import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import {
  maxMessageBytes,
  maxBytesBeforeSignIn,
  messageTooLongProblem,
} from '../database-connector/inbound-byte-limit.ts'
import type { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { databaseProblem } from '../database-connector/problems.ts'

const engine = 'SQL Server'

/**
 * A driver internal that its types do not declare: it creates a token reader for each message, after decryption if the
 * connection uses TLS.
 */
interface TediousMessageIo {
  createTokenStreamParser(message: AsyncIterable<Buffer>, handler: unknown): { parser: Readable }
}

/**
 * Counts the bytes from a server, and breaks the connection above the limit. A value may arrive in pieces without a total
 * length, and the driver keeps all pieces until the last one; it also keeps rows, notices and errors of a response.
 */
export class SqlServerInboundByteLimit {
  signedIn = false
  /** Whether rows are taken one by one: then each row is limited, and not their sum. Otherwise the driver keeps the whole response. */
  feeding = false
  /** The reason why the connection was broken. */
  problem: SourceProblem | undefined
  readonly #config: DatabaseConfig
  #socket: Socket | undefined
  #before = 0

  constructor(config: DatabaseConfig) {
    this.#config = config
  }

  /** Counts all bytes of the socket until the sign-in is complete, TLS included. Call this before the driver receives the socket. */
  door(socket: Socket): void {
    this.#socket = socket
    const count = (bytes: Buffer): void => {
      if (this.signedIn) return void socket.off('data', count)
      this.#before += bytes.length
      if (this.#before > maxBytesBeforeSignIn) this.#break(this.#otherProtocol())
    }
    // A listener starts the stream, so the stream is paused: no data may pass before the driver listens too.
    socket.pause()
    socket.on('data', count)
  }

  /** Counts the bytes from which the driver reads tokens. */
  watch(driver: TediousMessageIo): void {
    const create = driver.createTokenStreamParser.bind(driver)
    driver.createTokenStreamParser = (message, handler) => {
      const answer = { bytes: 0 }
      const reader = create(this.#counted(message, answer), handler)
      reader.parser.on('data', ({ name }: { name: string }) => {
        if (this.feeding && (name === 'ROW' || name === 'NBCROW')) answer.bytes = 0
      })
      // The driver does not report tokens that it cannot read.
      reader.parser.on('error', () => this.#break(this.#otherProtocol()))
      return reader
    }
  }

  async *#counted(message: AsyncIterable<Buffer>, answer: { bytes: number }): AsyncGenerator<Buffer> {
    for await (const bytes of message) {
      answer.bytes += bytes.length
      if (answer.bytes > maxMessageBytes) {
        this.#break(messageTooLongProblem(this.#config, engine))
        // The socket must report the end: a response that ended here would look complete.
        await new Promise(() => {})
      }
      yield bytes
    }
  }

  #break(problem: SourceProblem): void {
    this.problem ??= problem
    this.#socket?.destroy(problem)
  }

  #otherProtocol(): SourceProblem {
    return databaseProblem({ code: 'OTHER_PROTOCOL' }, this.#config, engine)
  }
}
