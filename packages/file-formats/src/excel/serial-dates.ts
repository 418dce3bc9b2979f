const dayLength = 86_400_000
/** The serial numbers of 29 February 1900, which did not exist, and of the last day in Excel. */
const inventedDay = 60
const lastDay = 2_958_465
/** The days between Excel's two date systems, 1900 and 1904. */
const from1904 = 1462

/**
 * Formats a serial number as the date or time that Excel displays, to the millisecond, or returns undefined if Excel
 * displays none. Days are counted from 1900, including a nonexistent 29 February, or from 1904. The fraction is the
 * time of day.
 */
export function serialText(serial: number, meaning: NumberMeaning, is1904: boolean): string | undefined {
  const totalUnits = Math.round(serial * dayLength)
  if (!Number.isFinite(serial)) return undefined
  if (meaning === 'ELAPSED') return formatElapsedTime(totalUnits)
  const dayNumber = Math.floor(totalUnits / dayLength)
  const time = totalUnits - dayNumber * dayLength
  if (dayNumber === 0 && totalUnits >= 0 && (meaning === 'TIME' || !is1904)) return formatClockTime(time)
  const day = is1904 ? dayNumber + from1904 : dayNumber
  if (dayNumber < 0 || day < 1 || day > lastDay) return undefined
  const date = dateOf(day)
  return meaning === 'DATE' && time === 0 ? date : `${date} ${formatClockTime(time)}`
}

/**
 * Texts of days that were formatted before: the cells of a sheet share few days, and a `Date` for each takes longer
 * than reading the cell.
 */
const dateTexts = new Map<number, string>()
const maxDateTexts = 20_000

function dateOf(day: number): string {
  const knownText = dateTexts.get(day)
  if (knownText !== undefined) return knownText
  const text = formatSerialDay(day)
  if (dateTexts.size === maxDateTexts) dateTexts.clear()
  dateTexts.set(day, text)
  return text
}

/** Formats a day of a workbook, counted from the end of 1899, as `2026-11-21`. */
function formatSerialDay(day: number): string {
  if (day === inventedDay) return '1900-02-29'
  const since = Date.UTC(1899, 11, day < inventedDay ? 31 : 30)
  return new Date(since + day * dayLength).toISOString().slice(0, 10)
}

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

/** Formats milliseconds of a day. */
function formatClockTime(time: number): string {
  const seconds = Math.floor(time / 1000)
  const minutes = Math.floor(seconds / 60)
  const text = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`
  const milliseconds = time % 1000
  return milliseconds === 0 ? text : `${text}.${String(milliseconds).padStart(3, '0')}`
}

/** Formats a duration. Its hours may exceed a day. */
function formatElapsedTime(totalUnits: number): string {
  const positive = Math.abs(totalUnits)
  const hours = Math.floor(positive / 3_600_000)
  return `${totalUnits < 0 ? '-' : ''}${String(hours).padStart(2, '0')}${formatClockTime(positive % 3_600_000).slice(2)}`
}

export type NumberMeaning = 'NUMBER' | 'DATE' | 'TIMESTAMP' | 'TIME' | 'ELAPSED'

/**
 * Returns the meaning of a built-in number format, which every workbook has implicitly. Includes the East Asian ones.
 */
export function builtInMeaning(id: number): NumberMeaning {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 34 && id <= 36) || (id >= 50 && id <= 58))
    return 'DATE'
  if ((id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47) return 'TIME'
  if (id === 22) return 'TIMESTAMP'
  return id === 46 ? 'ELAPSED' : 'NUMBER'
}

/**
 * Returns the meaning of a format code such as `yyyy-mm-dd hh:mm` or `[Red]0.00`. Text in quotes, after a backslash or
 * in brackets is not format letters. Hours, minutes or seconds alone in brackets mean a duration that may exceed a day.
 */
export function meaningOf(code: string): NumberMeaning {
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
