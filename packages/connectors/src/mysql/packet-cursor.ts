/** A read position within one packet. Numbers are little-endian. */
export class PacketCursor {
  bytes: Buffer = Buffer.alloc(0)
  view: DataView = new DataView(new ArrayBuffer(0))
  position = 0
  #end = 0

  start(bytes: Buffer, index: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    }
    this.position = index
    this.#end = end
  }

  /** Skips this many bytes. Returns their start position. */
  skip(bytes: number): number {
    const from = this.position
    this.position = from + bytes
    if (this.position > this.#end) throw new Error('Invalid MySQL packet: a row ends before its last column.')
    return from
  }

  /** Reads the length prefix of a text or of binary data. */
  readLength(): number {
    const first = this.bytes[this.skip(1)]!
    if (first < 251) return first
    if (first === 252) return this.view.getUint16(this.skip(2), true)
    if (first === 253) return this.bytes.readUIntLE(this.skip(3), 3)
    return Number(this.view.getBigUint64(this.skip(8), true))
  }
}
