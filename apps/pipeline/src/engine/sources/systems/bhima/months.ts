/** First and last days, both of which count, as `YYYY-MM-DD`. An end that is absent is open. */
export interface Days {
  start?: string
  end?: string
}

/**
 * The time that is wanted in parts of a month: lists without pages get long, and the server makes each at once. Without a first day it is
 * one part.
 */
export function monthsOf(
  { startDate, endDate }: { startDate?: string; endDate?: string },
  today = new Date().toISOString().slice(0, 10),
): Days[] {
  if (startDate === undefined) return [endDate === undefined ? {} : { end: endDate }]
  const last = endDate ?? today
  const parts: Days[] = []
  let start = startDate
  for (;;) {
    const [year, month] = start.split('-').map(Number) as [number, number]
    const end = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
    // What is dated ahead is wanted as well where no last day is said.
    if (end >= last) return [...parts, endDate === undefined ? { start } : { start, end: endDate }]
    parts.push({ start, end })
    start = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)
  }
}
