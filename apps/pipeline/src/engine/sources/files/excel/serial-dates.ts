const dayLength = 86_400_000
/** The day that Excel believes 1900 had, and the last day that it knows. */
const inventedDay = 60
const lastDay = 2_958_465
/** Days between the two ways of counting. */
const from1904 = 1462

/**
 * A serial number as the day or time that Excel shows for it, or undefined where it shows none. Days are counted from 1900, with
 * a 29 February that never was, or from 1904; fractions are times, to the millisecond.
 */
export function serialText(serial: number, meaning: NumberMeaning, is1904: boolean): string | undefined {
  const total = Math.round(serial * dayLength)
  if (!Number.isFinite(serial)) return undefined
  if (meaning === 'ELAPSED') return elapsed(total)
  const counted = Math.floor(total / dayLength)
  const time = total - counted * dayLength
  if (counted === 0 && total >= 0 && (meaning === 'TIME' || !is1904)) return clock(time)
  const day = is1904 ? counted + from1904 : counted
  if (counted < 0 || day < 1 || day > lastDay) return undefined
  const date = dateOf(day)
  return meaning === 'DATE' && time === 0 ? date : `${date} ${clock(time)}`
}

function dateOf(day: number): string {
  if (day === inventedDay) return '1900-02-29'
  const since = Date.UTC(1899, 11, day < inventedDay ? 31 : 30)
  return new Date(since + day * dayLength).toISOString().slice(0, 10)
}

function clock(time: number): string {
  const text = new Date(time).toISOString().slice(11, 23)
  return text.endsWith('.000') ? text.slice(0, 8) : text
}

/** Hours may be more than a day has. */
function elapsed(total: number): string {
  const positive = Math.abs(total)
  const hours = Math.floor(positive / 3_600_000)
  return `${total < 0 ? '-' : ''}${String(hours).padStart(2, '0')}${clock(positive % 3_600_000).slice(2)}`
}

export type NumberMeaning = 'NUMBER' | 'DATE' | 'TIMESTAMP' | 'TIME' | 'ELAPSED'

/** The formats that every workbook has without saying so; those of East Asia among them. */
export function builtInMeaning(id: number): NumberMeaning {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 34 && id <= 36) || (id >= 50 && id <= 58))
    return 'DATE'
  if ((id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47) return 'TIME'
  if (id === 22) return 'TIMESTAMP'
  return id === 46 ? 'ELAPSED' : 'NUMBER'
}

/**
 * What a format's own code makes of a number, such as `yyyy-mm-dd hh:mm` or `[Red]0.00`. What stands in quotes, behind a backslash or
 * in brackets is no letter of it; hours, minutes or seconds alone in brackets are a time that goes on beyond a day.
 */
export function meaningOf(code: string): NumberMeaning {
  const bare = code.replace(/"[^"]*"|\\.|_.|\*./g, '')
  const [first = ''] = bare.split(';')
  if (/\[(h+|m+|s+)\]/i.test(first)) return 'ELAPSED'
  const letters = first.replace(/\[[^\]]*\]/g, '')
  if (/general/i.test(letters)) return 'NUMBER'
  const clock = /AM\/PM|A\/P/i.test(letters)
  const rest = letters.replace(/AM\/PM|A\/P/gi, '')
  const hasTime = clock || /[hs]/i.test(rest)
  const hasDay = /[yd]/i.test(rest) || (/m/i.test(rest) && !hasTime)
  if (hasDay) return hasTime ? 'TIMESTAMP' : 'DATE'
  return hasTime ? 'TIME' : 'NUMBER'
}
