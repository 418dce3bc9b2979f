import type { NumberMeaning } from './number-formats.ts'

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
