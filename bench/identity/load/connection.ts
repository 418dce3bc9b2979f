import { connect, type Socket } from 'node:net'

export interface Reply {
  status: number
  body: Buffer
}

const blankLine = Buffer.from('\r\n\r\n')

/**
 * A keep-alive connection with one request at a time. It shares its cores with the measured service, so it does only
 * what is necessary: a tenth of the work of Node's HTTP client. Responses need a Content-Length.
 */
export class Connection implements AsyncDisposable {
  #socket: Socket
  #parts: Buffer = Buffer.alloc(0)
  #waiting: { resolve(reply: Reply): void; reject(error: Error): void } | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')))
  }

  /** Sends a complete HTTP/1.1 request. */
  send(text: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(text)
    })
  }

  #take(chunk: Buffer): void {
    this.#parts = this.#parts.length === 0 ? chunk : Buffer.concat([this.#parts, chunk])
    const end = this.#parts.indexOf(blankLine)
    if (end < 0) return
    const head = this.#parts.toString('latin1', 0, end)
    const status = Number(head.slice(9, 12))
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? (status === 204 ? 0 : Number.NaN))
    if (Number.isNaN(length)) return this.#fail(new Error(`an answer without its length: ${head}`))
    const bodyStart = end + blankLine.length
    if (this.#parts.length < bodyStart + length) return
    const body = this.#parts.subarray(bodyStart, bodyStart + length)
    this.#parts = this.#parts.subarray(bodyStart + length)
    const pending = this.#waiting
    this.#waiting = undefined
    pending?.resolve({ status, body })
  }

  #fail(error: Error): void {
    const pending = this.#waiting
    this.#waiting = undefined
    pending?.reject(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }
}
