import { type BytesVector, timeText } from '@sluice/tuples'
import type { LeafType } from './leaf-types.ts'
import type { Fill, Remarks } from './fill.ts'
import type { ByteValues, FixedValues, Values } from './values.ts'

const nanosecondsOfDay = 86_400_000_000_000n

type RenderOne = (values: Values, place: number, row: number, remarks: Remarks) => string

/** Values that the warehouse has as text, spelled out. */
export function renderer(type: LeafType): Fill {
  const one = renderOne(type)
  return (values, places, count, vector, remarks) => {
    const into = vector as BytesVector
    const texts: Buffer[] = []
    let length = 0
    for (let row = 0; row < count; row++) {
      if (places[row]! < 0) continue
      const text = Buffer.from(one(values, places[row]!, row, remarks), 'latin1')
      into.starts[row] = length
      into.lengths[row] = text.length
      length += text.length
      texts.push(text)
    }
    into.data = Buffer.concat(texts, length)
  }
}

function renderOne({ physical, width, reading }: LeafType): RenderOne {
  const hexOf = (values: Values, place: number) => {
    const start = physical === 'BYTE_ARRAY' ? (values as ByteValues).starts[place]! : place * width
    const length = physical === 'BYTE_ARRAY' ? (values as ByteValues).lengths[place]! : width
    return Buffer.from(values.bytes.buffer, values.bytes.byteOffset + start, length).toString('hex')
  }
  switch (reading.as) {
    case 'hex':
      return (values, place) => reading.prefix + hexOf(values, place)
    case 'uuid':
      return (values, place) => hexOf(values, place).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    case 'interval':
      return (values, place) => interval((values as FixedValues).view, place * 12)
    case 'time':
      return (values, place, row, remarks) => {
        const { view } = values as FixedValues
        const units = reading.wide ? view.getBigInt64(place * 8, true) : BigInt(view.getInt32(place * 4, true))
        const all = units * BigInt(reading.nanoseconds)
        if (all >= 0n && all < nanosecondsOfDay) return timeText(Number(all))
        remarks.fault(row, 'is no time of a day')
        return ''
      }
    default:
      throw new Error(`${reading.as} is not rendered`)
  }
}

/** Months, days and milliseconds, as ISO 8601 writes a duration. */
function interval(view: DataView, at: number): string {
  const [months, days, milliseconds] = [0, 4, 8].map((offset) => view.getUint32(at + offset, true))
  return `P${months}M${days}DT${milliseconds! / 1000}S`
}
