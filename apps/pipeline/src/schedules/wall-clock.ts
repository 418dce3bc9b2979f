const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether the runtime knows a time zone of this name. */
export function isZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** Returns the zone's UTC offset at an instant in milliseconds, positive east of UTC. */
export function offsetAt(zone: string, instant: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatOf(zone).formatToParts(instant)) parts[type] = Number(value)
  const wall = Date.UTC(
    parts['year']!,
    parts['month']! - 1,
    parts['day'],
    parts['hour'],
    parts['minute'],
    parts['second'],
  )
  return wall - Math.floor(instant / 1000) * 1000
}

/** Returns the wall-clock time at an instant, as if it were UTC. */
export const wallAt = (zone: string, instant: number) => instant + offsetAt(zone, instant)

/**
 * Returns the instants of a wall-clock time: one, or two in order if the time is repeated. A skipped time gets the instant that
 * it would have without the offset change, so 2:30 becomes 3:30.
 */
export function instantsOf(zone: string, wall: number): number[] {
  const day = 86_400_000
  const before = offsetAt(zone, wall - day)
  const after = offsetAt(zone, wall + day)
  if (before === after && offsetAt(zone, wall - before) === before) return [wall - before]
  const shown = [wall - before, wall - after].filter((instant) => wallAt(zone, instant) === wall)
  return shown.length > 0 ? [...new Set(shown)].toSorted((a, b) => a - b) : [wall - before]
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    const two = '2-digit'
    const date = { year: 'numeric', month: two, day: two } as const
    const time = { hour: two, minute: two, second: two, hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat('en-u-ca-iso8601', { timeZone: zone, ...date, ...time })
    formats.set(zone, format)
  }
  return format
}
