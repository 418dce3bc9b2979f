import {
  maxMessageBytes,
  maxBytesBeforeSignIn,
  messageTooLongProblem,
} from '../database-connector/inbound-byte-limit.ts'
import { databaseProblem } from '../database-connector/problems.ts'
import type { SessionAccess } from '../database-connector/session.ts'
import type { SourceProblem } from '@sluice/row-stream'

/** Milliseconds between checks. The excess is limited to the bytes that the network carries in that time. */
const lookEvery = 20
/** Maximum bytes of one response with rows, which may be sixteen rows of megabytes each. */
export const longestRows = 4 * maxMessageBytes

/**
 * Counts the bytes received since the last request, and breaks the connection above the limit: the driver queues
 * everything that arrives, requested or not. The driver neither accepts nor exposes a socket, so this class uses the byte
 * counts of the sockets, TLS included.
 */
export class OracleInboundByteLimit implements Disposable {
  readonly #access: SessionAccess
  readonly #timer: NodeJS.Timeout
  #signedIn = false
  #since = 0
  #most = maxBytesBeforeSignIn
  #problem: SourceProblem | undefined

  constructor(access: SessionAccess) {
    this.#access = access
    this.#timer = setInterval(() => this.#look(), lookEvery).unref()
  }

  signedIn(): void {
    this.#signedIn = true
  }

  /**
   * Returns the response of the driver. Throws `SourceProblem` if the connection was broken because the response was too
   * large; otherwise the driver's error.
   */
  async ask<T>(act: () => Promise<T>, most = maxMessageBytes): Promise<T> {
    this.#since = this.#received()
    if (this.#signedIn) this.#most = most
    try {
      return await act()
    } catch (error) {
      throw this.#problem ?? error
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #received(): number {
    return this.#access.opened.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  }

  #look(): void {
    if (this.#received() - this.#since <= this.#most) return
    const { config, opened } = this.#access
    this.#problem ??= this.#signedIn
      ? messageTooLongProblem(config, 'Oracle', this.#most)
      : databaseProblem({ code: 'OTHER_PROTOCOL' }, config, 'Oracle')
    for (const socket of opened) socket.destroy(new Error('closed'))
  }
}
