import { quoteCsvField } from '@sluice/row-stream'
import type { CellText, ExportedColumn, FileEncoder } from './exported-column.ts'

/** Prints a value, given as the text of an export, in a source format. */
export type ValuePrinter = (text: string) => string

/**
 * Returns the printer of a format that `findSourceFormats` of ../delimited/source-formats returns. It never loses a digit:
 * a value that the format cannot hold, such as 1.255 in `0.00`, has more digits, and a value of another kind, such as
 * `infinity`, is returned as it is.
 */
export function createValuePrinter(format: string): ValuePrinter {
  const number = /^(#|0+)(?:([.,])(0+|#))?$/.exec(format)
  if (number) return numberPrinter({ whole: number[1]!, sign: number[2] ?? '.', fraction: number[3] ?? '' })
  const [yes, no] = format.split('|')
  if (no !== undefined) return (text) => (text === 'true' ? yes! : text === 'false' ? no : text)
  const time = /^([DMY./-]+)(?:([ T])HH:mm(:ss(?:\.(S+|#))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(format)
  if (!time) return (text) => text
  const [, date, separator, seconds, fraction = '', zone = ''] = time
  return timePrinter({ date: date!, separator, hasSeconds: seconds !== undefined, fraction, zone })
}

interface NumberForm {
  /** `0` for each digit that is always printed, or `#` if a lone zero is left out. */
  whole: string
  sign: string
  /** `0` for each digit that is always printed; `#` and nothing print only the digits that the value needs. */
  fraction: string
}

function numberPrinter({ whole, sign, fraction }: NumberForm): ValuePrinter {
  const minWholeDigits = whole === '#' ? 0 : whole.length
  const minFractionDigits = fraction === '#' ? 0 : fraction.length
  return (text) => {
    const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
    if (!match) return text
    const [, minus, wholeDigits, fractionDigits = ''] = match
    const printedFraction = trimZeros(fractionDigits).padEnd(minFractionDigits, '0')
    if (printedFraction === '') return `${minus}${wholeDigits!.padStart(minWholeDigits, '0')}`
    // The format `#` prints no zero before the decimal sign.
    const printedWhole = wholeDigits === '0' && minWholeDigits === 0 ? '' : wholeDigits!.padStart(minWholeDigits, '0')
    return `${minus}${printedWhole}${sign}${printedFraction}`
  }
}

interface TimeFormat {
  date: string
  /** Undefined if only the date is printed. */
  separator: string | undefined
  hasSeconds: boolean
  /** A letter for each digit that is always printed; `#` and nothing print only the digits that the value needs. */
  fraction: string
  /** The zone as it is printed, such as `+02:00`. */
  zone: string
}

const timePattern = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|\+00(?::?00)?)?)?$/

/** A year beyond 9999 or before 1 can only be that of a time in another zone. */
const utcPattern = /^(\d{4,5})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(:\d\d(?:\.\d+)?)(?:Z|\+00(?::?00)?)( BC)?$/

function timePrinter(format: TimeFormat): ValuePrinter {
  const zoneMinutes = parseZone(format.zone)
  return (text) => {
    const match = timePattern.exec(zoneMinutes === 0 ? text : (shiftTime(text, zoneMinutes) ?? ''))
    if (!match) return text
    const [, year, month, day, minutes = '00:00', seconds = '00', fraction = ''] = match
    const date = format.date.replace('YYYY', year!).replace('MM', month!).replace('DD', day!)
    const digits = trimZeros(fraction)
    if (format.separator === undefined) {
      const isMidnight = minutes === '00:00' && seconds === '00' && digits === ''
      return isMidnight ? date : text
    }
    const printedDigits = digits.padEnd(format.fraction === '#' ? 0 : format.fraction.length, '0')
    const hasSeconds = format.hasSeconds || seconds !== '00' || digits !== ''
    const afterMinutes = hasSeconds ? `:${seconds}${printedDigits && `.${printedDigits}`}` : ''
    return `${date}${format.separator}${minutes}${afterMinutes}${format.zone}`
  }
}

const trimZeros = (digits: string): string => digits.replace(/0+$/, '')

function parseZone(zone: string): number {
  const match = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)
  if (!match) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0)
  return match[1] === '-' ? -minutes : minutes
}

/** Returns a time in UTC as the time of a zone. Returns undefined for other texts. */
function shiftTime(text: string, minutes: number): string | undefined {
  const match = utcPattern.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, seconds, beforeChrist] = match
  const date = new Date(0)
  date.setUTCFullYear(beforeChrist ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day))
  date.setUTCHours(Number(hour), Number(minute) + minutes)
  // No format prints a year that is negative or has more than four digits.
  return `${date.toISOString().replace(/:\d\d\.\d+Z$/, '')}${seconds}`
}

/**
 * Writes CSV (RFC 4180) with the values in the source formats of their columns. Values of other columns stay as they
 * are.
 */
export function sourceFormatCsvEncoder(columns: readonly ExportedColumn[]): FileEncoder {
  const printers = columns.map(({ sourceFormat }) =>
    sourceFormat === undefined ? String : createValuePrinter(sourceFormat),
  )
  let header = columns.map(({ name }) => quoteCsvField(name)).join(',') + lineEnd
  const takeHeader = () => {
    const text = header
    header = ''
    return text
  }
  /** NULL is an empty field. */
  const toField = (cell: CellText, column: number) => (cell === null ? '' : quoteCsvField(printers[column]!(cell)))
  return {
    write(cells) {
      const fields = cells.map((values, column) => values.map((cell) => toField(cell, column)))
      const [firstColumn = []] = fields
      const rows = firstColumn.map((_, row) => fields.map((values) => values[row]!).join(',') + lineEnd)
      return [Buffer.from(takeHeader() + rows.join(''))]
    },
    end: () => [Buffer.from(takeHeader())],
  }
}

const lineEnd = '\r\n'
