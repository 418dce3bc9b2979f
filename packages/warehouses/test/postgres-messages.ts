/**
 * Returns one message of PostgreSQL's protocol with its header, see https://www.postgresql.org/docs/current/protocol-
 * message-formats.html.
 */
export interface Message {
  /** A letter; `startup` for the first of a client. */
  type: string
  bytes: Buffer
}

/** Cuts a stream into messages. */
class Messages {
  #rest = Buffer.alloc(0)
  #begun: boolean

  constructor(begun: boolean) {
    this.#begun = begun
  }

  take(bytes: Buffer): Message[] {
    this.#rest = Buffer.concat([this.#rest, bytes])
    const found: Message[] = []
    for (;;) {
      const header = this.#begun ? 1 : 0
      if (this.#rest.length < header + 4) return found
      const length = header + this.#rest.readUInt32BE(header)
      if (this.#rest.length < length) return found
      const type = this.#begun ? String.fromCharCode(this.#rest[0]!) : 'startup'
      found.push({ type, bytes: this.#rest.subarray(0, length) })
      this.#rest = this.#rest.subarray(length)
      this.#begun = true
    }
  }
}

export class FrontendMessages extends Messages {
  constructor() {
    super(false)
  }
}

export class ServerMessages extends Messages {
  constructor() {
    super(true)
  }
}

export function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  const header = Buffer.alloc(5)
  header.write(type, 'latin1')
  header.writeUInt32BE(bytes.length + 4, 1)
  return Buffer.concat([header, bytes])
}

/** Ready, outside of a transaction. */
export const ready = message('Z', 'I')

export const errorResponse = (code: string, words: string): Buffer =>
  message('E', `SERROR\0VERROR\0C${code}\0M${words}\0\0`)

/** The statement in a message of a client: Query or Parse. */
export function textOf(type: string, bytes: Buffer): string | undefined {
  if (type === 'Q') return bytes.toString('utf8', 5, bytes.length - 1)
  if (type !== 'P') return undefined
  const from = bytes.indexOf(0, 5) + 1
  return bytes.toString('utf8', from, bytes.indexOf(0, from))
}
