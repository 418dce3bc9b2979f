import { Arrivals } from '../arrivals.ts'
import type { DatabaseConfig } from '../database-config.ts'

const headerBytes = 4
/** A packet of this length is gone on with by the next one. */
const longestPacket = 0xff_ff_ff

/** Three bytes of length and one of order: https://mariadb.com/kb/en/0-packet/. */
export class MysqlArrivals extends Arrivals {
  #goesOn = false
  #kept = true

  constructor(config: DatabaseConfig) {
    super(headerBytes, config, 'MySQL')
  }

  /** Something is asked: the driver keeps all of the answer. */
  asked(): void {
    this.#kept = true
    this.answer = 0
  }

  /** Rows are taken one by one from now on. */
  rows(): void {
    this.#kept = false
    this.answer = 0
  }

  protected override begin(header: Buffer): number {
    const length = header.readUIntLE(0, 3)
    this.message = (this.#goesOn ? this.message : 0) + length
    this.#goesOn = length === longestPacket
    if (this.#kept) this.answer += length + headerBytes
    return length
  }
}
