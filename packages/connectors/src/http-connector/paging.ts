import { SourceProblem } from '@sluice/row-stream'

/** Seconds by which increments overlap, because some systems return a record only some time after its timestamp. */
export const overlapSeconds = 300

/**
 * Requests a page of `pageSize` items. If the response exceeds the size limit, tries again with a quarter of the items.
 * Returns the page and the size that worked, with which the caller continues.
 */
export async function requestFittingPage<T>(
  pageSize: number,
  request: (pageSize: number) => Promise<T>,
): Promise<{ page: T; pageSize: number }> {
  for (let size = pageSize; ; size = Math.ceil(size / 4)) {
    try {
      return { page: await request(size), pageSize: size }
    } catch (error) {
      const isTooLarge = (error as { code?: unknown }).code === 'ANSWER_TOO_LARGE'
      if (!isTooLarge || size <= 1) throw error
    }
  }
}

/** The maximum number of consecutive pages without a new record. Real systems return only a few. */
const maxEmptyPages = 1_000

/**
 * Returns a function to call after each page. It throws `SourceProblem` OTHER_PROTOCOL after 1,000 consecutive pages
 * without new records, because such a list may never end.
 */
export function createPagingCheck(system: string): (hasNewRecords: boolean) => void {
  let emptyPages = 0
  return (hasNewRecords) => {
    emptyPages = hasNewRecords ? 0 : emptyPages + 1
    if (emptyPages <= maxEmptyPages) return
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `${system[0]!.toUpperCase()}${system.slice(1)} returned more than ${maxEmptyPages} consecutive pages without a new record or a last page. Check the paging of its API, or select less data.`,
    )
  }
}

/**
 * Returns the cursor for the next increment in the format of `latest`, the latest timestamp of the records. The cursor
 * is five minutes before that timestamp or before the start of the read, whichever is earlier. The start matters
 * because a record can change after it was read. Returns undefined if `latest` is empty, or if the cursor would not be
 * later than `previous`.
 */
export function createNextCursor(latest: string, startedAt: number, previous?: string): string | undefined {
  if (latest === '') return undefined
  const isAfterStart = parseTimestamp(latest) > startedAt
  const next = isAfterStart
    ? formatInSameFormat(latest, Math.floor(startedAt) - overlapSeconds * 1000)
    : subtractSeconds(latest, overlapSeconds)
  if (previous === undefined) return next
  return isLater(next, previous) ? next : undefined
}

/** Compares two timestamps by time, or as texts if one of them is invalid. */
function isLater(timestamp: string, other: string): boolean {
  const time = parseTimestamp(timestamp)
  const otherTime = parseTimestamp(other)
  const areValid = !Number.isNaN(time) && !Number.isNaN(otherTime)
  return areValid ? time > otherTime : timestamp > other
}

/** Returns the timestamp minus `seconds`, in the same format. Returns an invalid timestamp unchanged. */
export function subtractSeconds(timestamp: string, seconds: number): string {
  const time = parseTimestamp(timestamp)
  return Number.isNaN(time) ? timestamp : formatInSameFormat(timestamp, time - seconds * 1000)
}

const hasZone = (timestamp: string): boolean => /(Z|[+-]\d\d:?\d\d)$/i.test(timestamp)

/** Returns Unix milliseconds. A timestamp without a time zone counts as UTC. */
const parseTimestamp = (timestamp: string): number => Date.parse(hasZone(timestamp) ? timestamp : `${timestamp}Z`)

/** Formats a time as an ISO timestamp in UTC, with `Z` only if the given timestamp has a time zone. */
function formatInSameFormat(timestamp: string, time: number): string {
  const text = new Date(time).toISOString()
  return hasZone(timestamp) ? text : text.slice(0, 23)
}

/** Returns the UTC day of a time in milliseconds: `2026-01-31`. */
export const formatUtcDay = (time: number): string => new Date(time).toISOString().slice(0, 10)

/**
 * Splits a range of days (`YYYY-MM-DD`, both inclusive) into one range per calendar month, because some servers build a
 * whole response in memory.
 */
export function splitIntoMonths(start: string, end: string): { start: string; end: string }[] {
  const ranges: { start: string; end: string }[] = []
  let firstDay = start
  for (;;) {
    const [year, month] = firstDay.split('-').map(Number) as [number, number]
    // `Date.UTC` counts months from 0, so `month` is the next month, and its day 0 is the last day of this month.
    const lastDayOfMonth = formatUtcDay(Date.UTC(year, month, 0))
    if (lastDayOfMonth >= end) return [...ranges, { start: firstDay, end }]
    ranges.push({ start: firstDay, end: lastDayOfMonth })
    firstDay = formatUtcDay(Date.UTC(year, month, 1))
  }
}
