import { InboundByteLimit } from '../database-connector/inbound-byte-limit.ts'
import type { DatabaseConfig } from '../database-connector/database-config.ts'

const headerBytes = 5
const readyForQuery = 0x5a
/** Notices, settings and notifications may arrive at any time and in any number; the driver does not keep them. */
const ignoredMessageTypes = new Set([...'NSA'].map((letter) => letter.charCodeAt(0)))

/**
 * Reads message headers: a letter, and a length that includes itself,
 * https://www.postgresql.org/docs/current/protocol-message-formats.html.
 */
export class PostgresInboundByteLimit extends InboundByteLimit {
  constructor(config: DatabaseConfig, engine: string) {
    super(headerBytes, config, engine)
  }

  protected override begin(header: Buffer): number {
    const type = header[0]!
    const length = header.readUInt32BE(1)
    if (length < 4) throw this.otherProtocol()
    this.message = length
    if (type === readyForQuery) {
      this.signedIn = true
      this.answer = 0
    } else if (!ignoredMessageTypes.has(type)) this.answer += length
    return length - 4
  }
}
