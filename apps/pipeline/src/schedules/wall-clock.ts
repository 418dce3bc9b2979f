const formatByZone = new Map<string, Intl.DateTimeFormat>()

/** Returns whether the runtime knows this time zone. */
export function isKnownZone(name: string): boolean {
  try {
    getFormat(name)
    return true
  } catch {
    return false
  }
}

/** Returns the UTC offset of a zone at an instant, in milliseconds, positive east of Greenwich. */
export function getUtcOffset(zone: string, instant: number): number {
  const fields: Record<string, number> = {}
  for (const { type, value } of getFormat(zone).formatToParts(instant)) fields[type] = Number(value)
  const wallClockTime = Date.UTC(
    fields['year']!,
    fields['month']! - 1,
    fields['day'],
    fields['hour'],
    fields['minute'],
    fields['second'],
  )
  const instantInSeconds = Math.floor(instant / 1000)
  return wallClockTime - instantInSeconds * 1000
}

/** Returns the local time at an instant, represented in milliseconds as if it were UTC. */
export const toWallClockTime = (zone: string, instant: number) => instant + getUtcOffset(zone, instant)

/** Formats an instant with the UTC offset of the zone: `2026-03-29T03:30:00.000+02:00`. */
export function formatInZone(zone: string, instant: number): string {
  const offset = getUtcOffset(zone, instant)
  const offsetMinutes = Math.round(Math.abs(offset) / 60_000)
  const twoDigits = (part: number) => String(part).padStart(2, '0')
  const wallClockText = new Date(instant + offset).toISOString().slice(0, -1)
  return `${wallClockText}${offset < 0 ? '-' : '+'}${twoDigits(Math.floor(offsetMinutes / 60))}:${twoDigits(offsetMinutes % 60)}`
}

/**
 * Returns the instants of a local time: one, or two in order if the local time occurs twice. If daylight saving skips
 * the local time, such as 2:30, returns the instant that it would have without the change, which is then 3:30.
 */
export function listInstants(zone: string, wall: number): number[] {
  const day = 86_400_000
  const before = getUtcOffset(zone, wall - day)
  const after = getUtcOffset(zone, wall + day)
  if (before === after && getUtcOffset(zone, wall - before) === before) return [wall - before]
  const matching = [wall - before, wall - after].filter((instant) => toWallClockTime(zone, instant) === wall)
  return matching.length > 0 ? [...new Set(matching)].toSorted((a, b) => a - b) : [wall - before]
}

/** Returns the cached date format of a zone, because creating one takes long. */
function getFormat(zone: string): Intl.DateTimeFormat {
  let format = formatByZone.get(zone)
  if (!format) {
    const twoDigits = '2-digit'
    const date = { year: 'numeric', month: twoDigits, day: twoDigits } as const
    const time = { hour: twoDigits, minute: twoDigits, second: twoDigits, hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat('en-u-ca-iso8601', { timeZone: zone, ...date, ...time })
    formatByZone.set(zone, format)
  }
  return format
}
