import { quoteCsvField } from '@sluice/row-stream'
import type { CellText, ExportedColumn, FileEncoder } from './exported-column.ts'

/** Prints a value, given as the text of an export, in a source format. */
export type ValuePrinter = (text: string) => string

/** A format of numbers such as `0.00`, `000` or `#,##`: integer digits, decimal sign, decimal digits. */
const numberFormat = /^(#|0+)(?:([.,])(0+|#))?$/
/**
 * A format of times such as `YYYY-MM-DD` or `DD.MM.YYYY HH:mm:ss.SSS+01:00`: date, separator, seconds, fraction, zone.
 */
const timeFormat = /^([DMY./-]+)(?:([ T])HH:mm(:ss(?:\.(S+|#))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/

/**
 * Returns the printer of a format that `findSourceFormats` of ../delimited/source-formats returns: a format of numbers,
 * a pair of words such as `yes|no`, or a format of times. The printer never loses a digit: a value with more digits
 * than the format, such as 1.255 in `0.00`, keeps them, and a value of another kind, such as `infinity`, is returned
 * unchanged.
 */
export function createValuePrinter(format: string): ValuePrinter {
  const numberMatch = numberFormat.exec(format)
  if (numberMatch) {
    const [, integerDigits, sign = '.', fraction = ''] = numberMatch
    return numberPrinter({ integerDigits: integerDigits!, sign, fraction })
  }
  const [trueWord, falseWord] = format.split('|')
  if (falseWord !== undefined) return booleanPrinter(trueWord!, falseWord)
  const timeMatch = timeFormat.exec(format)
  if (!timeMatch) return (text) => text
  const [, date, separator, seconds, fraction = '', zone = ''] = timeMatch
  return timePrinter({ date: date!, separator, hasSeconds: seconds !== undefined, fraction, zone })
}

function booleanPrinter(trueWord: string, falseWord: string): ValuePrinter {
  return (text) => {
    if (text === 'true') return trueWord
    return text === 'false' ? falseWord : text
  }
}

interface NumberFormat {
  /** `0` for each digit that is always printed, or `#` if a lone zero before the decimal sign is left out. */
  integerDigits: string
  sign: string
  /** `0` for each digit that is always printed; `#` and nothing print only the digits that the value needs. */
  fraction: string
}

function numberPrinter({ integerDigits, sign, fraction }: NumberFormat): ValuePrinter {
  const minIntegerDigits = integerDigits === '#' ? 0 : integerDigits.length
  const minFractionDigits = fraction === '#' ? 0 : fraction.length
  return (text) => {
    const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
    if (!match) return text
    const [, minus, digitsBeforePoint, digitsAfterPoint = ''] = match
    const paddedInteger = digitsBeforePoint!.padStart(minIntegerDigits, '0')
    const fractionText = trimZeros(digitsAfterPoint).padEnd(minFractionDigits, '0')
    if (fractionText === '') return `${minus}${paddedInteger}`
    const isZeroLeftOut = digitsBeforePoint === '0' && minIntegerDigits === 0
    return `${minus}${isZeroLeftOut ? '' : paddedInteger}${sign}${fractionText}`
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

/** A time in UTC. Its year may exceed 9999 or be before 1, because the year in the other zone can differ. */
const utcPattern = /^(\d{4,5})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(:\d\d(?:\.\d+)?)(?:Z|\+00(?::?00)?)( BC)?$/

function timePrinter(format: TimeFormat): ValuePrinter {
  const offsetMinutes = parseOffsetMinutes(format.zone)
  return (text) => {
    const timeInZone = offsetMinutes === 0 ? text : shiftTime(text, offsetMinutes)
    const match = timeInZone === undefined ? null : timePattern.exec(timeInZone)
    if (!match) return text
    const [, year, month, day, minutes = '00:00', seconds = '00', fraction = ''] = match
    const date = format.date.replace('YYYY', year!).replace('MM', month!).replace('DD', day!)
    const digits = trimZeros(fraction)
    if (format.separator === undefined) {
      const isMidnight = minutes === '00:00' && seconds === '00' && digits === ''
      return isMidnight ? date : text
    }
    const dateAndMinutes = `${date}${format.separator}${minutes}`
    const needsSeconds = format.hasSeconds || seconds !== '00' || digits !== ''
    if (!needsSeconds) return `${dateAndMinutes}${format.zone}`
    const minFractionDigits = format.fraction === '#' ? 0 : format.fraction.length
    const paddedDigits = digits.padEnd(minFractionDigits, '0')
    const fractionText = paddedDigits === '' ? '' : `.${paddedDigits}`
    return `${dateAndMinutes}:${seconds}${fractionText}${format.zone}`
  }
}

const trimZeros = (digits: string): string => digits.replace(/0+$/, '')

/** Returns the minutes of a UTC offset such as `+02:00`. Returns 0 for `Z` and for an empty text. */
function parseOffsetMinutes(zone: string): number {
  const match = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)
  if (!match) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0)
  return match[1] === '-' ? -minutes : minutes
}

/**
 * Returns a time in UTC as the time in a zone with this offset. Returns undefined for a text that is not a time in UTC.
 */
function shiftTime(text: string, offsetMinutes: number): string | undefined {
  const match = utcPattern.exec(text)
  if (!match) return undefined
  const [, yearText, month, day, hour, minute, seconds, bc] = match
  const year = bc === undefined ? Number(yearText) : 1 - Number(yearText)
  const date = new Date(0)
  date.setUTCFullYear(year, Number(month) - 1, Number(day))
  date.setUTCHours(Number(hour), Number(minute) + offsetMinutes)
  const dateAndMinutes = date.toISOString().replace(/:\d\d\.\d+Z$/, '')
  // A year that is negative or has more than four digits does not match `timePattern`, so the value is not changed.
  return `${dateAndMinutes}${seconds}`
}

/**
 * Writes CSV (RFC 4180) with the values in the source formats of their columns. Values of columns without a source
 * format are not changed.
 */
export function sourceFormatCsvEncoder(columns: readonly ExportedColumn[]): FileEncoder {
  const printers = columns.map(({ sourceFormat }) =>
    sourceFormat === undefined ? String : createValuePrinter(sourceFormat),
  )
  let header = columns.map(({ name }) => quoteCsvField(name)).join(',') + lineEnd
  /** Returns the header the first time, and an empty text afterwards. */
  const headerOnce = () => {
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
      return [Buffer.from(headerOnce() + rows.join(''))]
    },
    end: () => [Buffer.from(headerOnce())],
  }
}

const lineEnd = '\r\n'
