import { maxMessageBytes, maxBytesBeforeSignIn, messageTooLongProblem } from '../inbound-byte-limit.ts'
import { databaseProblem } from '../problems.ts'
import type { SessionAccess } from '../session.ts'
import type { SourceProblem } from '../../source.ts'

/** Milliseconds. So much more may come as the network carries in that time. */
const lookEvery = 20
/** Of one answer of rows, which may be sixteen of megabytes each. */
export const longestRows = 4 * maxMessageBytes

/**
 * Looks at how many bytes came since something was asked, and breaks the connection when it is too much: the driver queues all that comes,
 * wanted or not. It takes no socket of ours and shows none, so what the sockets count by themselves has to do, TLS included.
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

  /** What the driver answers. Throws `SourceProblem` when it answers nothing because too much came; otherwise what the driver throws. */
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
