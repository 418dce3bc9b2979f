import { SourceProblem } from '@sluice/row-stream'

/** Seconds by which increments overlap, because records can become visible some time after their timestamp. */
export const overlapSeconds = 300

/**
 * Requests a page of `pageSize` items, and a quarter of them whenever the response exceeds the size limit. Returns the page and its size,
 * so that the next page starts with it.
 */
export async function requestFittingPage<T>(
  pageSize: number,
  request: (pageSize: number) => Promise<T>,
): Promise<{ page: T; pageSize: number }> {
  for (let size = pageSize; ; size = Math.ceil(size / 4)) {
    try {
      return { page: await request(size), pageSize: size }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ANSWER_TOO_LARGE' || size <= 1) throw error
    }
  }
}

/** Maximum consecutive pages without a new record. Real systems return a few of them. */
const maxEmptyPages = 1_000

/**
 * Returns a function to call after each page with whether the page had new records. It throws `SourceProblem` OTHER_PROTOCOL after a
 * thousand consecutive pages without new records, because such a list never ends.
 */
export function detectEndlessPaging(system: string): (hasNewRecords: boolean) => void {
  let emptyPages = 0
  return (hasNewRecords) => {
    emptyPages = hasNewRecords ? 0 : emptyPages + 1
    if (emptyPages <= maxEmptyPages) return
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `${system[0]!.toUpperCase()}${system.slice(1)} returned more than ${maxEmptyPages} pages in a row without a new record, and none is marked as the last page. Check how it returns pages, or load less.`,
    )
  }
}

/**
 * Returns the cursor of the next increment, in the format of `latest`: five minutes before the latest timestamp seen, and at most five
 * minutes before the start of the read, because a record that changed during the read may have been read before its change. Undefined if
 * no timestamp was seen, or if the previous cursor is the same or later.
 */
export function boundCursor(latest: string, startedAt: number, previous?: string): string | undefined {
  if (latest === '') return undefined
  const next =
    parseTimestamp(latest) > startedAt
      ? formatLike(latest, Math.floor(startedAt) - overlapSeconds * 1000)
      : subtractSeconds(latest, overlapSeconds)
  if (previous === undefined) return next
  const [nextTime, previousTime] = [parseTimestamp(next), parseTimestamp(previous)]
  const isComparable = !Number.isNaN(nextTime) && !Number.isNaN(previousTime)
  return (isComparable ? nextTime > previousTime : next > previous) ? next : undefined
}

/** Returns a timestamp `seconds` earlier, without a zone if it had none. Invalid timestamps stay unchanged. */
export function subtractSeconds(timestamp: string, seconds: number): string {
  const time = parseTimestamp(timestamp)
  return Number.isNaN(time) ? timestamp : formatLike(timestamp, time - seconds * 1000)
}

const hasZone = (timestamp: string): boolean => /(Z|[+-]\d\d:?\d\d)$/i.test(timestamp)

/** Returns milliseconds since 1970. Timestamps without a zone are in UTC. */
const parseTimestamp = (timestamp: string): number => Date.parse(hasZone(timestamp) ? timestamp : `${timestamp}Z`)

function formatLike(timestamp: string, time: number): string {
  const text = new Date(time).toISOString()
  return hasZone(timestamp) ? text : text.slice(0, 23)
}

/**
 * Splits a range of days (`YYYY-MM-DD`, both inclusive) into parts of at most a month, for servers that build each response as a whole.
 * Returns at least one part.
 */
export function splitIntoMonths(start: string, end: string): { start: string; end: string }[] {
  const parts: { start: string; end: string }[] = []
  for (let first = start; ; ) {
    const [year, month] = first.split('-').map(Number) as [number, number]
    const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
    if (last >= end) return [...parts, { start: first, end }]
    parts.push({ start: first, end: last })
    first = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)
  }
}
