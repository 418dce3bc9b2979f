import type { StoredType } from '@sluice/row-stream'
import fc, { type Arbitrary } from 'fast-check'

/** A value as the file prints it, and the same value as PostgreSQL reads it with default settings. */
export type PrintedValue = readonly [string, string]

export interface PrintedColumn {
  type: StoredType
  values: Arbitrary<PrintedValue>
}

const alike = (texts: Arbitrary<string>): Arbitrary<PrintedValue> => texts.map((text) => [text, text])
const integer = (bits: number) => fc.bigInt(-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n).map(String)
const sign = fc.constantFrom('', '-')
const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`))
const whole = (most: number) => digits(most).map((text) => text.replace(/^0+(?=\d)/, ''))
const decimal = (before: number, behind: number) =>
  fc.tuple(sign, whole(before), digits(behind)).map(([minus, one, other]) => `${minus}${one}.${other}`)
const odd = fc.constantFrom('0.0000', '-0.00', '.5', '10000', '0.00010000', '123456789.000000001', '100000000', '0')
const double = fc.oneof(
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => (Object.is(value, -0) ? '-0' : String(value).replace('e+', 'e'))),
  decimal(15, 25),
  fc.tuple(decimal(3, 20), fc.integer({ min: -280, max: 280 })).map(([text, power]) => `${text}e${power}`),
  fc.constantFrom(
    '-0',
    '5e-324',
    '1.7976931348623157e308',
    '2.2250738585072011e-308',
    '900719925474099.3',
    '1e+23',
    '0e+999',
  ),
)
const day = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10))
const clock = fc
  .tuple(fc.integer({ min: 0, max: 86_399 }), fc.constantFrom('', '.5', '.123456', '.000001', '.120'))
  .map(([second, fraction]) => new Date(second * 1000).toISOString().slice(11, 19) + fraction)
const zone = fc.constantFrom('Z', '+05', '-0330', '+05:45', '-15:59', '+00')
const moment = fc.tuple(day, fc.constantFrom('T', ' '), clock).map((parts) => parts.join(''))
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
const text = fc
  .string({ unit: 'binary', maxLength: 90 })
  .filter((value) => !value.includes('\0') && value.isWellFormed())
const reordered = (shape: string) =>
  day.map((iso): PrintedValue => {
    const [year, month, date] = iso.split('-') as [string, string, string]
    return [shape.replace('YYYY', year).replace('MM', month).replace('DD', date), iso]
  })

/** Sets of columns. The types inferred from a column's values always fit its stored type. */
export const printedColumns: Record<string, PrintedColumn[]> = {
  'integers and booleans': [
    { type: { dataType: 'SMALLINT' }, values: alike(integer(16)) },
    { type: { dataType: 'INTEGER' }, values: alike(integer(32)) },
    { type: { dataType: 'BIGINT' }, values: alike(integer(64)) },
    { type: { dataType: 'BOOLEAN' }, values: alike(fc.constantFrom('true', 'FALSE', 'True', 'false')) },
  ],
  'exact and inexact numbers': [
    { type: { dataType: 'DECIMAL', precision: 38, scale: 18 }, values: alike(fc.oneof(decimal(20, 18), odd)) },
    { type: { dataType: 'DECIMAL', precision: 38, scale: 10 }, values: alike(decimal(12, 3)) },
    { type: { dataType: 'DOUBLE' }, values: alike(double) },
    { type: { dataType: 'DOUBLE' }, values: alike(decimal(10, 4)) },
    { type: { dataType: 'FLOAT' }, values: alike(decimal(4, 2)) },
  ],
  'days and times': [
    { type: { dataType: 'DATE' }, values: alike(day) },
    { type: { dataType: 'DATE' }, values: reordered('DD.MM.YYYY') },
    { type: { dataType: 'DATE' }, values: reordered('YYYY/MM/DD') },
    { type: { dataType: 'TIMESTAMP' }, values: alike(fc.oneof(day, moment)) },
    { type: { dataType: 'TIMESTAMPTZ' }, values: alike(fc.tuple(moment, zone).map((parts) => parts.join(''))) },
  ],
  texts: [
    { type: { dataType: 'TEXT' }, values: alike(text.map((value) => quoted(`x${value}`))) },
    {
      type: { dataType: 'TEXT' },
      values: alike(text.map((value) => (value.includes('"') ? quoted(value) : quoted(`"${value}`)))),
    },
    {
      type: { dataType: 'VARCHAR_50' },
      values: alike(text.map((value) => quoted(Array.from(`y${value}`).slice(0, 50).join('')))),
    },
    {
      type: { dataType: 'TEXT' },
      values: alike(fc.constantFrom('plain', 'ü☕ö', '\\N', '\\.x', ' spaces ', '5′ pipe')),
    },
  ],
  'values that are stored in wider types': [
    { type: { dataType: 'BIGINT' }, values: alike(integer(16)) },
    { type: { dataType: 'DECIMAL', precision: 20, scale: 2 }, values: alike(integer(32)) },
    { type: { dataType: 'DOUBLE' }, values: alike(integer(32)) },
    {
      type: { dataType: 'DECIMAL' },
      values: alike(fc.tuple(decimal(3, 9), fc.integer({ min: -20, max: 20 })).map(([text, at]) => `${text}e${at}`)),
    },
    { type: { dataType: 'TEXT' }, values: alike(integer(64)) },
    { type: { dataType: 'TIMESTAMP' }, values: alike(day) },
    { type: { dataType: 'TIMESTAMPTZ' }, values: alike(fc.oneof(day, moment)) },
    { type: { dataType: 'VARCHAR_50' }, values: alike(moment) },
    { type: { dataType: 'TEXT' }, values: alike(fc.constantFrom('TRUE', 'false')) },
  ],
}
