/** A read position within one packet. Numbers are little-endian. */
export class PacketCursor {
  bytes: Buffer = Buffer.alloc(0)
  view: DataView = new DataView(new ArrayBuffer(0))
  position = 0
  #end = 0

  /** Starts reading a packet at a position in the bytes. */
  start(bytes: Buffer, position: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    }
    this.position = position
    this.#end = end
  }

  /** Skips this many bytes. Returns their start position. */
  skip(byteCount: number): number {
    const from = this.position
    this.position = from + byteCount
    if (this.position > this.#end) throw new Error('Invalid MySQL packet: a row ends before its last column.')
    return from
  }

  /**
   * Reads the length prefix of a text or of binary data. Its first byte is the length or, from 252, announces a length
   * in the next 2, 3 or 8 bytes.
   */
  readLength(): number {
    const firstByte = this.bytes[this.skip(1)]!
    if (firstByte < 251) return firstByte
    if (firstByte === 252) return this.view.getUint16(this.skip(2), true)
    if (firstByte === 253) return this.bytes.readUIntLE(this.skip(3), 3)
    return Number(this.view.getBigUint64(this.skip(8), true))
  }
}
