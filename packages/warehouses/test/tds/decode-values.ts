import { Reader } from './packets.ts'

/** A type as it is announced before values of it. */
export interface Announced {
  id: number
  size: number
  precision: number
  scale: number
}

/**
 * Decodes values as the protocol describes them. Shares no code with the encoder of the warehouse, so that each checks
 * the other.
 */
export function readType(from: Reader): Announced {
  const id = from.number(1)
  const type: Announced = { id, size: 0, precision: 0, scale: 0 }
  if ([0x26, 0x68, 0x6d].includes(id)) type.size = from.number(1)
  else if (id === 0x6a || id === 0x6c)
    Object.assign(type, { size: from.number(1), precision: from.number(1), scale: from.number(1) })
  else if (id === 0x2a || id === 0x2b) type.scale = from.number(1)
  else if (id === 0xe7) {
    type.size = from.number(2)
    from.take(5)
  } else if (id !== 0x28) throw new Error(`Type ${id.toString(16)} is not known to the stand-in.`)
  return type
}

export type Value = string | number | boolean | null

/** Whole numbers beyond 32 bits, decimals and times as text. */
export function readValue(from: Reader, type: Announced): Value {
  if (type.id === 0xe7) return readText(from, type)
  const length = from.number(1)
  if (length === 0) return null
  const bytes = from.take(length)
  switch (type.id) {
    case 0x26:
      return length === 8 ? bytes.readBigInt64LE().toString() : bytes.readIntLE(0, length)
    case 0x68:
      return bytes[0] === 1
    case 0x6d:
      return length === 4 ? bytes.readFloatLE() : bytes.readDoubleLE()
    case 0x28:
      return day(bytes.readUIntLE(0, 3))
    case 0x2a:
      return `${day(bytes.readUIntLE(5, 3))} ${time(bytes.readUIntLE(0, 5))}`
    case 0x2b:
      return `${day(bytes.readUIntLE(5, 3))} ${time(bytes.readUIntLE(0, 5))} +${bytes.readInt16LE(8)}`
    default:
      return decimal(bytes, type.scale)
  }
}

function readText(from: Reader, { size }: Announced): Value {
  if (size !== 0xffff) {
    const length = from.number(2)
    return length === 0xffff ? null : from.text(length / 2)
  }
  const whole = from.take(8)
  if (whole.every((byte) => byte === 0xff)) return null
  const parts: Buffer[] = []
  for (let length = from.number(4); length > 0; length = from.number(4)) parts.push(from.take(length))
  return Buffer.concat(parts).toString('utf16le')
}

/** From 0001-01-01. */
function day(days: number): string {
  const date = new Date(0)
  date.setUTCFullYear(1, 0, 1)
  date.setUTCDate(date.getUTCDate() + days)
  return date.toISOString().slice(0, 10)
}

function time(microseconds: number): string {
  const seconds = Math.floor(microseconds / 1e6)
  const part = (value: number) => String(value).padStart(2, '0')
  const fraction = String(microseconds % 1e6).padStart(6, '0')
  return `${part(Math.floor(seconds / 3600))}:${part(Math.floor(seconds / 60) % 60)}:${part(seconds % 60)}.${fraction}`
}

function decimal(bytes: Buffer, scale: number): string {
  let whole = 0n
  for (let at = bytes.length - 1; at > 0; at -= 1) whole = whole * 256n + BigInt(bytes[at]!)
  const digits = whole.toString().padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return bytes[0] === 0 && whole !== 0n ? `-${text}` : text
}

/** Rows of a bulk load: what its columns are, then each row, then a word that they are over. */
export function readBulk(bytes: Buffer): { columns: string[]; rows: Value[][] } {
  const from = new Reader(bytes)
  if (from.done) return { columns: [], rows: [] }
  if (from.number(1) !== 0x81) throw new Error('Rows come without their columns.')
  const types: Announced[] = []
  const columns: string[] = []
  for (let left = from.number(2); left > 0; left -= 1) {
    from.take(6)
    types.push(readType(from))
    columns.push(from.text(from.number(1)))
  }
  const rows: Value[][] = []
  for (let token = from.number(1); token === 0xd1; token = from.number(1))
    rows.push(types.map((type) => readValue(from, type)))
  return { columns, rows }
}
