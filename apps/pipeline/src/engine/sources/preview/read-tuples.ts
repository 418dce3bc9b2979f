import type { DataType } from '@sluice/contracts'
import type { StoredType } from '../source.ts'
import type { Cell } from './source-preview.ts'

/** The rows of a chunk of binary COPY as values, `most` of them at most. */
export function readTuples(chunk: Uint8Array, types: readonly StoredType[], most: number): Cell[][] {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  const rows: Cell[][] = []
  let at = 0
  while (at < bytes.length && rows.length < most) {
    at += 2
    rows.push(
      types.map(({ dataType }) => {
        const length = bytes.readInt32BE(at)
        at += 4
        if (length < 0) return null
        const value = bytes.subarray(at, at + length)
        at += length
        return (readers[dataType] ?? text)(value)
      }),
    )
  }
  return rows
}

type Read = (value: Buffer) => Cell

const text: Read = (value) => value.toString('utf8')

const readers: Partial<Record<DataType, Read>> = {
  SMALLINT: (value) => value.readInt16BE(),
  INTEGER: (value) => value.readInt32BE(),
  BIGINT: (value) => value.readBigInt64BE().toString(),
  // JSON has no NaN or Infinity; their names say more than null.
  FLOAT: (value) => nameable(Number(value.readFloatBE().toPrecision(7))),
  DOUBLE: (value) => nameable(value.readDoubleBE()),
  BOOLEAN: (value) => value[0] === 1,
  DECIMAL: numeric,
  DATE: (value) => day(value.readInt32BE()),
  TIMESTAMP: (value) => moment(value.readBigInt64BE()),
  TIMESTAMPTZ: (value) => moment(value.readBigInt64BE(), '+00'),
  JSONB: (value) => JSON.parse(value.toString('utf8', 1)) as Cell,
}

const nameable = (value: number): Cell => (Number.isFinite(value) ? value : String(value))

const dayLength = 86_400_000
const epoch = Date.UTC(2000, 0, 1)
const endless = { low: -0x8000_0000, high: 0x7fff_ffff }

function day(days: number): string {
  if (days === endless.high) return 'infinity'
  if (days === endless.low) return '-infinity'
  return dayText(epoch + days * dayLength)
}

/** As PostgreSQL prints it: `2026-01-31`, `0044-03-15 BC`, `10000-01-01`. */
function dayText(milliseconds: number): string {
  const date = new Date(milliseconds)
  // Years of the calendar reach further than those of Date.
  if (Number.isNaN(date.getTime())) return 'beyond the calendar'
  const year = date.getUTCFullYear()
  const digits = (amount: number, length = 2) => String(amount).padStart(length, '0')
  const shown = year > 0 ? year : 1 - year
  return `${digits(shown, 4)}-${digits(date.getUTCMonth() + 1)}-${digits(date.getUTCDate())}${year > 0 ? '' : ' BC'}`
}

/** Microseconds since 2000 as PostgreSQL prints them: `2026-01-31 12:30:00.25`. */
function moment(microseconds: bigint, zone = ''): string {
  if (microseconds === 0x7fff_ffff_ffff_ffffn) return 'infinity'
  if (microseconds === -0x8000_0000_0000_0000n) return '-infinity'
  const inDay = 86_400_000_000n
  const time = ((microseconds % inDay) + inDay) % inDay
  const date = dayText(epoch + Number((microseconds - time) / 1000n))
  const [plain = '', era = ''] = date.split(/(?= BC)/)
  const seconds = new Date(Number(time / 1000n)).toISOString().slice(11, 19)
  const fraction = String(time % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${plain} ${seconds}${fraction && `.${fraction}`}${zone}${era}`
}

const special: Record<number, string> = { 0xc000: 'NaN', 0xd000: 'Infinity', 0xf000: '-Infinity' }

/** Base 10000: the number of digits, the weight of the first, sign, and digits after the point. */
function numeric(value: Buffer): string {
  const [count, weight, sign, scale] = [
    value.readInt16BE(0),
    value.readInt16BE(2),
    value.readUInt16BE(4),
    value.readInt16BE(6),
  ]
  if (special[sign]) return special[sign]
  const digit = (index: number) =>
    String(index >= 0 && index < count ? value.readInt16BE(8 + index * 2) : 0).padStart(4, '0')
  const groups = (from: number, to: number) => {
    let digits = ''
    for (let index = from; index <= to; index++) digits += digit(index)
    return digits
  }
  const whole = groups(0, weight).replace(/^0+(?=\d)/, '') || '0'
  const fraction = groups(weight + 1, weight + Math.ceil(scale / 4)).slice(0, scale)
  return `${sign === 0x4000 ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}
