/** A moment so many seconds earlier, written without a zone where it was. What cannot be read stays as it is. */
export function before(moment: string, seconds: number): string {
  const time = timeOf(moment)
  return Number.isNaN(time) ? moment : inTheWayOf(moment, time - seconds * 1000)
}

const isZoned = (moment: string): boolean => /(Z|[+-]\d\d:?\d\d)$/i.test(moment)

function inTheWayOf(moment: string, time: number): string {
  const text = new Date(time).toISOString()
  return isZoned(moment) ? text : text.slice(0, 23)
}

/**
 * Where the next reading begins, in the way that `latest` is written. It is so many seconds before the latest moment that was seen, and never
 * later than that many seconds before the reading began: what changed while it was read may have been read before the change. Undefined where
 * nothing was seen, and where the earlier reading began there or later.
 */
export function nextCursor(
  latest: string,
  { began, since, overlap }: { began: number; since?: string | undefined; overlap: number },
): string | undefined {
  if (latest === '') return undefined
  const time = timeOf(latest)
  const next = time > began ? inTheWayOf(latest, Math.floor(began) - overlap * 1000) : before(latest, overlap)
  if (since === undefined) return next
  const [one, other] = [timeOf(next), timeOf(since)]
  return (Number.isNaN(one) || Number.isNaN(other) ? next > since : one > other) ? next : undefined
}

/** Milliseconds since 1970 of a moment, in UTC where it has no zone. */
const timeOf = (moment: string): number => Date.parse(isZoned(moment) ? moment : `${moment}Z`)
