import type { Cursor } from './cursor.ts'

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-11-21`; days with zeros in them as they are. */
export function dateText(on: Cursor): string {
  return day(on, on.length())
}

/** `2026-11-21 09:30:00`, with six digits more where there are any. */
export function timeText(on: Cursor): string {
  const length = on.length()
  const date = day(on, Math.min(length, 4))
  return length <= 4 ? `${date} 00:00:00` : `${date} ${clock(on, 0, length === 11)}`
}

/** `-838:59:59`: a TIME may be negative and longer than a day. */
export function timeSpanText(on: Cursor): string {
  const length = on.length()
  if (length === 0) return '00:00:00'
  const negative = on.view.getUint8(on.skip(1)) === 1
  const days = on.view.getUint32(on.skip(4), true)
  return (negative ? '-' : '') + clock(on, days * 24, length === 12)
}

function day(on: Cursor, length: number): string {
  if (length === 0) return '0000-00-00'
  const year = on.view.getUint16(on.skip(2), true)
  const at = on.skip(2)
  return `${String(year).padStart(4, '0')}-${two(on.bytes[at]!)}-${two(on.bytes[at + 1]!)}`
}

function clock(on: Cursor, hoursBefore: number, withFraction: boolean): string {
  const at = on.skip(3)
  const seconds = `${two(hoursBefore + on.bytes[at]!)}:${two(on.bytes[at + 1]!)}:${two(on.bytes[at + 2]!)}`
  if (!withFraction) return seconds
  const fraction = on.view.getUint32(on.skip(4), true)
  return fraction === 0 ? seconds : `${seconds}.${String(fraction).padStart(6, '0')}`
}
