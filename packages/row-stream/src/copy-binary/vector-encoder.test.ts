import { describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import { type ColumnVector, decimalText, emptyVector, TupleEncoder, type VectorKind, vectorText } from '../index.ts'

/** The encoded chunks of one column. Each cell is its hex text, or null. */
function encoded(vector: ColumnVector, dataType: DataType, rows: number, chunkBytes = 64): (string | null)[][] {
  const chunks: (string | null)[][] = []
  const encoder = new TupleEncoder([{ kind: vector.kind, dataType }], {
    open: (atLeast) => new Uint8Array(Math.max(chunkBytes, atLeast)),
    close: (memory, length) => chunks.push(cellsOf(Buffer.from(memory.subarray(0, length)))),
  })
  for (const _ of encoder.encode([vector], 0, rows)) continue
  encoder.flush()
  return chunks
}

function cellsOf(bytes: Buffer): (string | null)[] {
  const cells: (string | null)[] = []
  for (let at = 0; at < bytes.length; ) {
    expect(bytes.readInt16BE(at)).toBe(1)
    const length = bytes.readInt32BE(at + 2)
    at += 6
    cells.push(length === -1 ? null : bytes.toString('hex', at, at + length))
    at += Math.max(length, 0)
  }
  return cells
}

/** The hex text of the first cell. */
const firstCell = (vector: ColumnVector, dataType: DataType) => encoded(vector, dataType, 1).flat()[0]

function wholeNumber(
  kind: 'integer' | 'decimal' | 'timestamp' | 'timestamptz',
  value: bigint,
  scale = 0,
): ColumnVector {
  const vector = emptyVector(kind, 1, scale)
  if (!('low' in vector)) throw new Error(`${kind} has no halves`)
  vector.low[0] = Number(BigInt.asIntN(32, value))
  vector.high[0] = Number(BigInt.asIntN(32, value >> 32n))
  if (vector.kind === 'decimal' && BigInt.asIntN(64, value) !== value) vector.big = new Map([[0, value]])
  return vector
}

function floating(kind: 'float' | 'double', value: number): ColumnVector {
  const vector = emptyVector(kind, 1)
  if ('values' in vector) vector.values[0] = value
  return vector
}

function texts(values: (string | null)[], kind: 'text' | 'json' = 'text'): ColumnVector {
  const vector = emptyVector(kind, values.length)
  if (!('data' in vector)) throw new Error('no bytes')
  vector.data = Buffer.from(`before${values.map((value) => value ?? '').join('')}`)
  let at = 6
  for (const [row, value] of values.entries()) {
    vector.nulls[row] = value === null ? 1 : 0
    vector.starts[row] = at
    vector.lengths[row] = Buffer.byteLength(value ?? '')
    at += vector.lengths[row]!
  }
  return vector
}

const hex = (text: string) => Buffer.from(text).toString('hex')

describe('the vector encoder', () => {
  it.each([
    ['SMALLINT', -2n, 'fffe'],
    ['INTEGER', 258n, '00000102'],
    ['BIGINT', -(2n ** 63n), '8000000000000000'],
    ['BIGINT', 2n ** 40n + 1n, '0000010000000001'],
    ['DOUBLE', 3n, '4008000000000000'],
    ['DECIMAL', 0n, '0000000000000000'],
    ['DECIMAL', 20_001n, '000200010000000000020001'],
    ['DECIMAL', -(10n ** 8n), '00010002400000000001'],
    ['DECIMAL', 2n ** 63n - 1n, '0005000400000000039a0d2c0170156516af'],
    ['TEXT', -7n, hex('-7')],
  ] as const)('encodes integers for a column of type %s: %s', (dataType, value, cell) => {
    expect(firstCell(wholeNumber('integer', value), dataType)).toBe(cell)
  })

  it.each([
    [1n, 2],
    [-12_345n, 2],
    [5n, 10],
    [10n ** 18n, 18],
    [10n ** 30n, 4],
    [-(10n ** 20n) - 1n, 12],
    [2n ** 53n + 1n, 3],
    [9_999_999_999_999n, 12],
    [-1n, 13],
    [10n ** 75n + 7n, 76],
  ])('encodes %s with scale %s as the numeric that decimalText prints', (value, scale) => {
    const vector = wholeNumber('decimal', value, scale)
    const cell = Buffer.from(firstCell(vector, 'DECIMAL')!, 'hex')
    expect(numericText(cell)).toBe(decimalText(value, scale))
    expect(vectorText(vector, 0)).toBe(decimalText(value, scale))
  })

  it.each([
    [0.1, '0.1'],
    [-1.5e-7, '-0.00000015'],
    [1e22, '10000000000000000000000'],
    [123.456, '123.456'],
  ])('encodes the double %s as the numeric of its shortest text', (value, text) => {
    expect(numericText(Buffer.from(firstCell(floating('double', value), 'DECIMAL')!, 'hex'))).toBe(text)
  })

  it('encodes NaN and the infinities as numerics', () => {
    const signs = [NaN, Infinity, -Infinity].map((value) =>
      firstCell(floating('double', value), 'DECIMAL')?.slice(8, 12),
    )
    expect(signs).toEqual(['c000', 'd000', 'f000'])
  })

  it.each([
    ['double', 1e15, '1e+15'],
    ['double', 999999999999999, '999999999999999'],
    ['double', 0.0001, '0.0001'],
    ['double', 0.00001, '1e-05'],
    ['double', -0, '-0'],
    ['double', 1234.5, '1234.5'],
    ['float', Math.fround(0.1), '0.1'],
    ['float', 1e6, '1e+06'],
    ['float', Math.fround(16777216), '1.6777216e+07'],
    ['double', -Infinity, '-Infinity'],
  ] as const)('prints the %s %s like PostgreSQL', (kind, value, text) => {
    expect(vectorText(floating(kind, value), 0)).toBe(text)
    expect(firstCell(floating(kind, value), 'TEXT')).toBe(hex(text))
  })

  it.each([
    ['timestamp', 0n, '1970-01-01 00:00:00'],
    ['timestamp', -1n, '1969-12-31 23:59:59.999999'],
    ['timestamptz', 946_684_800_500_000n, '2000-01-01 00:00:00.5+00'],
    ['timestamp', -210_866_803_200_000_000n, '4714-11-24 00:00:00 BC'],
    ['timestamp', 9_000_000_000_000_000_000n, '287168-08-24 16:00:00'],
  ] as const)('encodes a %s as microseconds since 2000: %s', (kind, value, text) => {
    const cell = firstCell(wholeNumber(kind, value), 'TIMESTAMP')!
    expect(BigInt.asIntN(64, BigInt(`0x${cell}`))).toBe(value - 946_684_800_000_000n)
    expect(vectorText(wholeNumber(kind, value), 0)).toBe(text)
  })

  it('encodes dates for columns of dates and of timestamps', () => {
    const vector = emptyVector('date', 1)
    if (vector.kind === 'date') vector.days[0] = 10_958
    expect(firstCell(vector, 'DATE')).toBe('00000001')
    expect(firstCell(vector, 'TIMESTAMPTZ')).toBe((86_400_000_000).toString(16).padStart(16, '0'))
    expect(vectorText(vector, 0)).toBe('2000-01-02')
  })

  it('encodes texts of every length, nulls and JSON', () => {
    const values = [
      ...Array.from({ length: 70 }, (_, length) => 'é'.repeat(length >> 1) + 'x'.repeat(length & 1)),
      null,
      '',
    ]
    expect(encoded(texts(values), 'TEXT', values.length).flat()).toEqual(values.map((value) => value && hex(value)))
    expect(encoded(texts(['{}'], 'json'), 'JSONB', 1).flat()).toEqual([`01${hex('{}')}`])
    expect(encoded(texts(['{}'], 'json'), 'TEXT', 1).flat()).toEqual([hex('{}')])
  })

  it('fills chunks with whole rows, and puts a longer row in a separate chunk', () => {
    const chunks = encoded(texts(['a'.repeat(20), 'b'.repeat(20), 'c'.repeat(20), 'd'.repeat(200), 'e']), 'TEXT', 5)
    expect(chunks.map((cells) => cells.length)).toEqual([2, 1, 1, 1])
  })

  it.each([
    ['text', 'INTEGER'],
    ['boolean', 'BIGINT'],
    ['double', 'INTEGER'],
    ['timestamp', 'DATE'],
    ['text', 'JSONB'],
  ] as const)('refuses to encode %s for a column of type %s', (kind: VectorKind, dataType: DataType) => {
    expect(() => encoded(emptyVector(kind, 1), dataType, 1)).toThrow('cannot be stored')
  })
})

/** Decodes a binary numeric of PostgreSQL, independently of the encoder. */
function numericText(bytes: Buffer): string {
  const [digits, weight, sign, scale] = [
    bytes.readInt16BE(0),
    bytes.readInt16BE(2),
    bytes.readUInt16BE(4),
    bytes.readInt16BE(6),
  ]
  let unscaled = 0n
  for (let i = 0; i < digits; i++) {
    const power = BigInt(4 * (weight - i) + scale + 4)
    const digit = BigInt(bytes.readInt16BE(8 + 2 * i)) * 10n ** power
    unscaled += digit
  }
  return decimalText((sign === 0x4000 ? -1n : 1n) * (unscaled / 10_000n), scale)
}
