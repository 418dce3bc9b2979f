import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { maxMessageBytes, maxBytesBeforeSignIn, messageTooLongProblem } from '../inbound-byte-limit.ts'
import type { SourceProblem } from '../../source.ts'
import type { DatabaseConfig } from '../database-config.ts'
import { databaseProblem } from '../problems.ts'

const engine = 'SQL Server'

/** What is not in the driver's types: it makes a reader of tokens for each message, from the far side of TLS where there is TLS. */
interface TediousMessageIo {
  createTokenStreamParser(message: AsyncIterable<Buffer>, handler: unknown): { parser: Readable }
}

/**
 * Counts what a server sends, and breaks the connection when it is too much. A value here may come in pieces without a length, and the
 * driver keeps them all until the last one; and so may an answer's rows, notices and errors.
 */
export class SqlServerInboundByteLimit {
  signedIn = false
  /** Rows are taken one by one: each is bounded, and not all of them together. Otherwise the driver keeps the whole answer. */
  feeding = false
  /** Why the connection was broken. */
  problem: SourceProblem | undefined
  readonly #config: DatabaseConfig
  #socket: Socket | undefined
  #before = 0

  constructor(config: DatabaseConfig) {
    this.#config = config
  }

  /** Counts all that comes through the socket until somebody is signed in, TLS included. To be called before the driver has it. */
  door(socket: Socket): void {
    this.#socket = socket
    const count = (bytes: Buffer): void => {
      if (this.signedIn) return void socket.off('data', count)
      this.#before += bytes.length
      if (this.#before > maxBytesBeforeSignIn) this.#break(this.#otherProtocol())
    }
    // Whoever listens sets a stream going: nothing is to pass before the driver listens too.
    socket.pause()
    socket.on('data', count)
  }

  /** Counts what the driver reads tokens from. */
  watch(driver: TediousMessageIo): void {
    const create = driver.createTokenStreamParser.bind(driver)
    driver.createTokenStreamParser = (message, handler) => {
      const answer = { bytes: 0 }
      const reader = create(this.#counted(message, answer), handler)
      reader.parser.on('data', ({ name }: { name: string }) => {
        if (this.feeding && (name === 'ROW' || name === 'NBCROW')) answer.bytes = 0
      })
      // Of tokens that it cannot read, the driver tells nobody.
      reader.parser.on('error', () => this.#break(this.#otherProtocol()))
      return reader
    }
  }

  async *#counted(message: AsyncIterable<Buffer>, answer: { bytes: number }): AsyncGenerator<Buffer> {
    for await (const bytes of message) {
      answer.bytes += bytes.length
      if (answer.bytes > maxMessageBytes) {
        this.#break(messageTooLongProblem(this.#config, engine))
        // What is told last is told by the socket: an answer that ends here would look whole.
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
