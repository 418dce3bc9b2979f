import type { ColumnType } from '../../src/delimited/dialect/column-type.ts'
import { timeOf } from './reference-type-detection.ts'

const unambiguousFormats = ['YYYY-MM-DD', 'YYYY/MM/DD', 'DD.MM.YYYY']

/** True if a value fits the declared type of its column, according to the description in README.md. */
export function fitsDeclaredType(value: string, type: ColumnType, decimal: '.' | ','): boolean {
  const number = decimal === ',' ? (value.includes('.') ? 'no number' : value.replace(',', '.')) : value
  switch (type.dataType) {
    case 'SMALLINT':
      return isInteger(value, 16)
    case 'INTEGER':
      return isInteger(value, 32)
    case 'BIGINT':
      return isInteger(value, 64)
    case 'BOOLEAN':
      return /^(t|true|y|yes|on|1|f|false|n|no|off|0)$/i.test(value)
    case 'DOUBLE':
      return /^[-+]?(\d+(\.\d+)?|\.\d+)(e[-+]?\d+)?$/i.test(number) && fitsDouble(number)
    case 'DECIMAL': {
      const [, whole = '', fraction = ''] = /^[-+]?0*(\d*)(?:\.(\d+))?$/.exec(number) ?? []
      const scale = type.scale ?? 0
      return (
        /^[-+]?(\d+(\.\d+)?|\.\d+)$/.test(number) && whole.length <= type.precision! - scale && fraction.length <= scale
      )
    }
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ': {
      const kinds = (type.dateFormat ? [type.dateFormat] : unambiguousFormats).map((format) => timeOf(value, format))
      const fittingKinds = {
        DATE: ['DATE'],
        TIMESTAMP: ['DATE', 'TIMESTAMP'],
        TIMESTAMPTZ: ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'],
      }
      return kinds.some((kind) => kind !== undefined && fittingKinds[type.dataType as 'DATE'].includes(kind))
    }
    case 'VARCHAR_50':
      return Array.from(value).length <= 50
    default:
      return true
  }
}

function isInteger(value: string, bits: number): boolean {
  return (
    /^[-+]?\d+$/.test(value) && BigInt.asIntN(bits, BigInt(value.replace('+', ''))) === BigInt(value.replace('+', ''))
  )
}

function fitsDouble(text: string): boolean {
  const value = Number(text)
  return Number.isFinite(value) && (value !== 0 || !/[1-9]/.test(text.split(/e/i)[0]!))
}
