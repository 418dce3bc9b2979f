const millisecondsOfDay = 86_400_000
/** The serial numbers of 29 February 1900, which did not exist, and of the last day in Excel. */
const february29Of1900 = 60
const lastDay = 2_958_465
/** The days between Excel's two date systems, 1900 and 1904. */
const daysFrom1900To1904 = 1462

/**
 * Formats a serial number as the date or time that Excel displays, to the millisecond. Returns undefined if Excel
 * displays no date or time. The whole part of the number counts days from 1900, including a nonexistent 29 February, or
 * from 1904. The fraction is the time of day.
 */
export function formatSerialNumber(serial: number, meaning: NumberMeaning, is1904: boolean): string | undefined {
  if (!Number.isFinite(serial)) return undefined
  const milliseconds = Math.round(serial * millisecondsOfDay)
  if (meaning === 'ELAPSED') return formatElapsedTime(milliseconds)
  const dayNumber = Math.floor(milliseconds / millisecondsOfDay)
  const time = milliseconds - dayNumber * millisecondsOfDay
  // Day 0 exists only in the 1904 date system. In the 1900 one, such a number is a time of day.
  const isTimeOfDay = dayNumber === 0 && (meaning === 'TIME' || !is1904)
  if (isTimeOfDay) return formatClockTime(time)
  const day = is1904 ? dayNumber + daysFrom1900To1904 : dayNumber
  if (dayNumber < 0 || day < 1 || day > lastDay) return undefined
  const date = formatDateCached(day)
  return meaning === 'DATE' && time === 0 ? date : `${date} ${formatClockTime(time)}`
}

/**
 * Texts of days that were formatted before: the cells of a sheet share few days, and a `Date` for each takes longer
 * than reading the cell.
 */
const dateTexts = new Map<number, string>()
const maxDateTexts = 20_000

/** Returns the date of a day from `dateTexts`. Formats and adds it if it is not there. */
function formatDateCached(day: number): string {
  const knownText = dateTexts.get(day)
  if (knownText !== undefined) return knownText
  const text = formatSerialDay(day)
  if (dateTexts.size === maxDateTexts) dateTexts.clear()
  dateTexts.set(day, text)
  return text
}

/** Formats a day of the 1900 date system as YYYY-MM-DD. */
function formatSerialDay(day: number): string {
  if (day === february29Of1900) return '1900-02-29'
  const day0 = Date.UTC(1899, 11, day < february29Of1900 ? 31 : 30)
  return new Date(day0 + day * millisecondsOfDay).toISOString().slice(0, 10)
}

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

/** Formats the milliseconds since midnight as HH:MM:SS, with `.mmm` if they are not whole seconds. */
function formatClockTime(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  const minutes = Math.floor(seconds / 60)
  const text = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`
  const fraction = milliseconds % 1000
  return fraction === 0 ? text : `${text}.${String(fraction).padStart(3, '0')}`
}

const millisecondsOfHour = 3_600_000

/** Formats a duration as HH:MM:SS. It may have more than 24 hours and a minus. */
function formatElapsedTime(milliseconds: number): string {
  const duration = Math.abs(milliseconds)
  const sign = milliseconds < 0 ? '-' : ''
  const hours = String(Math.floor(duration / millisecondsOfHour)).padStart(2, '0')
  const minutesAndSeconds = formatClockTime(duration % millisecondsOfHour).slice('00'.length)
  return `${sign}${hours}${minutesAndSeconds}`
}

export type NumberMeaning = 'NUMBER' | 'DATE' | 'TIMESTAMP' | 'TIME' | 'ELAPSED'

/**
 * Returns the meaning of a built-in number format by its id (ECMA-376, numFmt). Every workbook has these formats
 * implicitly, including the East Asian ones.
 */
export function meaningOfBuiltInFormat(id: number): NumberMeaning {
  const isBetween = (from: number, to: number) => id >= from && id <= to
  if (isBetween(14, 17) || isBetween(27, 31) || isBetween(34, 36) || isBetween(50, 58)) return 'DATE'
  if (isBetween(18, 21) || isBetween(32, 33) || id === 45 || id === 47) return 'TIME'
  if (id === 22) return 'TIMESTAMP'
  return id === 46 ? 'ELAPSED' : 'NUMBER'
}

/**
 * Returns the meaning of a format code such as `yyyy-mm-dd hh:mm` or `[Red]0.00`. Only its first section, up to a
 * semicolon, counts. Text in quotes, after a backslash or in brackets is not format letters. Hours, minutes or seconds
 * alone in brackets mean a duration that may exceed a day.
 */
export function meaningOfFormatCode(code: string): NumberMeaning {
  const codeWithoutLiterals = code.replace(/"[^"]*"|\\.|_.|\*./g, '')
  const [firstSection = ''] = codeWithoutLiterals.split(';')
  if (/\[(h+|m+|s+)\]/i.test(firstSection)) return 'ELAPSED'
  const letters = firstSection.replace(/\[[^\]]*\]/g, '')
  if (/general/i.test(letters)) return 'NUMBER'
  const hasAmPm = /AM\/PM|A\/P/i.test(letters)
  const lettersWithoutAmPm = letters.replace(/AM\/PM|A\/P/gi, '')
  const hasTime = hasAmPm || /[hs]/i.test(lettersWithoutAmPm)
  const hasDay = /[yd]/i.test(lettersWithoutAmPm) || (/m/i.test(lettersWithoutAmPm) && !hasTime)
  if (hasDay) return hasTime ? 'TIMESTAMP' : 'DATE'
  return hasTime ? 'TIME' : 'NUMBER'
}
