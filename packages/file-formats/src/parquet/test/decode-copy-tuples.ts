import type { DataType } from '@sluice/contracts'

export type Cell = string | number | boolean | null

/** Tuples of binary COPY as cells, read by PostgreSQL's description of each type; every chunk has to end with a row. */
export function decodeTuples(chunks: readonly Uint8Array[], types: readonly DataType[]): Cell[][] {
  return chunks.flatMap((chunk) => {
    const bytes = Buffer.from(chunk)
    const rows: Cell[][] = []
    for (let at = 0; at < bytes.length; ) {
      const fields = bytes.readInt16BE(at)
      if (fields !== types.length) throw new Error(`${fields} fields instead of ${types.length}`)
      at += 2
      const row: Cell[] = []
      for (const type of types) {
        const length = bytes.readInt32BE(at)
        at += 4
        if (length < -1 || at + length > bytes.length) throw new Error(`a field of ${length} bytes`)
        row.push(length === -1 ? null : decodeField(bytes.subarray(at, at + length), type))
        at += Math.max(0, length)
      }
      rows.push(row)
    }
    return rows
  })
}

function decodeField(bytes: Buffer, type: DataType): Cell {
  const sized = (length: number) => {
    if (bytes.length !== length) throw new Error(`${type} of ${bytes.length} bytes`)
    return bytes
  }
  switch (type) {
    case 'SMALLINT':
      return sized(2).readInt16BE()
    case 'INTEGER':
      return sized(4).readInt32BE()
    case 'BIGINT':
      return String(sized(8).readBigInt64BE())
    case 'FLOAT':
      return sized(4).readFloatBE()
    case 'DOUBLE':
      return sized(8).readDoubleBE()
    case 'BOOLEAN':
      return sized(1)[0] === 1
    case 'DATE':
      return isoOf(BigInt(sized(4).readInt32BE()) * 86_400_000_000n).slice(0, -16)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return isoOf(sized(8).readBigInt64BE())
    case 'DECIMAL':
      return numericText(bytes)
    case 'JSONB':
      if (bytes[0] !== 1) throw new Error(`JSONB of version ${bytes[0]}`)
      return bytes.toString('utf8', 1)
    default:
      return bytes.toString('utf8')
  }
}

/** Microseconds since 2000 as `YYYY-MM-DD hh:mm:ss.ffffff`. */
function isoOf(microseconds: bigint): string {
  const all = microseconds + 946_684_800_000_000n
  const fraction = ((all % 1_000_000n) + 1_000_000n) % 1_000_000n
  const seconds = Number((all - fraction) / 1_000_000n)
  const date = new Date(seconds * 1000).toISOString().slice(0, -5).replace('T', ' ')
  return `${date}.${String(fraction).padStart(6, '0')}`
}

function numericText(bytes: Buffer): string {
  const [digits, weight, sign, scale] = [0, 2, 4, 6].map((at) => bytes.readUInt16BE(at)) as [
    number,
    number,
    number,
    number,
  ]
  if (sign === 0xc000) return 'NaN'
  if (sign === 0xd000) return 'Infinity'
  if (sign === 0xf000) return '-Infinity'
  if (bytes.length !== 8 + 2 * digits) throw new Error(`${digits} digits in ${bytes.length} bytes`)
  const top = weight > 0x7fff ? weight - 0x10000 : weight
  const groups = new Map<number, number>()
  for (let i = 0; i < digits; i++) {
    const digit = bytes.readUInt16BE(8 + 2 * i)
    if (digit > 9999 || (digit === 0 && (i === 0 || i === digits - 1))) throw new Error(`digit ${digit} at ${i}`)
    groups.set(top - i, digit)
  }
  const at = (place: number) => String(groups.get(place) ?? 0).padStart(4, '0')
  let whole = ''
  for (let place = Math.max(top, 0); place >= 0; place--) whole += at(place)
  let fraction = ''
  for (let place = -1; fraction.length < scale; place--) fraction += at(place)
  const text = whole.replace(/^0+(?=\d)/, '') + (scale > 0 ? `.${fraction.slice(0, scale)}` : '')
  return sign === 0x4000 ? `-${text}` : text
}
