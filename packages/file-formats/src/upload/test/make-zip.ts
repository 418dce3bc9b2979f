import { crc32, deflateRawSync } from 'node:zlib'

/** An entry as it is to be written, true or not. */
export interface ZipEntry {
  name: string
  content: Uint8Array | string
  /** 8 is deflate, 0 none. */
  method?: number
  flags?: number
  /** Said of the content instead of the truth. */
  size?: number
  sum?: number
  /** Sizes and place are written in the extra field that large archives have. */
  zip64?: boolean
}

/** A ZIP archive, byte by byte. `count` is said in place of the number of entries. */
export function makeZip(entries: ZipEntry[], { count = entries.length } = {}): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let place = 0
  for (const entry of entries) {
    const content = Buffer.from(entry.content as Uint8Array)
    const method = entry.method ?? 8
    const data = method === 8 ? deflateRawSync(content) : content
    const name = Buffer.from(entry.name)
    const size = entry.size ?? content.length
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE((entry.flags ?? 0) | 0x800, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(entry.sum ?? crc32(content), 10)
    common.writeUInt32LE(entry.zip64 ? 0xffffffff : data.length, 14)
    common.writeUInt32LE(entry.zip64 ? 0xffffffff : size, 18)
    common.writeUInt16LE(name.length, 22)
    const extra = entry.zip64 ? zip64Field(size, data.length, place) : Buffer.alloc(0)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, data])
    common.writeUInt16LE(extra.length, 24)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(entry.zip64 ? 0xffffffff : place, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, rest, name, extra)
    files.push(local)
    place += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(count & 0xffff, 8)
  end.writeUInt16LE(count & 0xffff, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(place, 16)
  return Buffer.concat([...files, central, end])
}

function zip64Field(size: number, packed: number, place: number): Buffer {
  const field = Buffer.alloc(28)
  field.writeUInt16LE(1, 0)
  field.writeUInt16LE(24, 2)
  field.writeBigUInt64LE(BigInt(size), 4)
  field.writeBigUInt64LE(BigInt(packed), 12)
  field.writeBigUInt64LE(BigInt(place), 20)
  return field
}
