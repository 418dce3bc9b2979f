import type { DataType, ParameterData } from 'tedious/lib/data-type.js'
import type { MadeColumn, SqlType } from '../dialects/dialect.ts'
import type { Grown } from '../rows/cell-writer.ts'
import { decimalBytes } from './bulk-cells.ts'
import { digitsOf, isText } from './types.ts'

/** How each type is announced before the rows of a bulk load: a byte that names it, then what it needs. */
const announced: Record<SqlType, number[]> = {
  smallint: [0x26, 2],
  int: [0x26, 4],
  bigint: [0x26, 8],
  bit: [0x68, 1],
  real: [0x6d, 4],
  float: [0x6d, 8],
  date: [0x28],
  'datetime2(6)': [0x2a, 6],
  'datetimeoffset(6)': [0x2b, 6],
}

function typeInfo(type: SqlType, collation: ParameterData['collation']): Buffer {
  const [precision, scale] = digitsOf(type)
  if (precision !== undefined) return Buffer.from([0x6a, decimalBytes(precision), precision, scale!])
  const fixed = announced[type]
  if (fixed) return Buffer.from(fixed)
  if (!isText(type)) throw new Error(`Rows of type ${type} are not written.`)
  const [, length] = /\((\d+)\)$/.exec(type) ?? []
  const text = Buffer.from([0xe7, 0, 0, 0, 0, 0, 0, 0])
  text.writeUInt16LE(length === undefined ? 0xffff : 2 * Number(length), 1)
  collation?.toBuffer().copy(text, 3, 0, 5)
  return text
}

/** Whether a NULL of the type is a length of nought, as it is of all but texts. */
export function writeNone(type: SqlType): (out: Grown) => void {
  const bytes = !isText(type) ? 1 : /\(\d+\)$/.test(type) ? 2 : 8
  return (out) => {
    out.bytes.fill(bytes === 1 ? 0 : 0xff, out.at, out.at + bytes)
    out.at += bytes
  }
}

const nothing = Buffer.alloc(0)

/**
 * A column as the driver takes it for a bulk load. The driver makes packets of objects, value by value, and loses digits on the way;
 * here the first column's value is the bytes of many whole rows, and the others have none.
 */
export function bulkColumn({ type }: MadeColumn, index: number): DataType {
  return {
    id: 0,
    type: 'BYTES',
    name: 'Bytes',
    declaration: () => type,
    generateTypeInfo: ({ collation }) => typeInfo(type, collation),
    generateParameterLength: () => nothing,
    *generateParameterData({ value }) {
      if (index === 0) yield value as Buffer
    },
    validate: (value: unknown) => value,
  }
}
