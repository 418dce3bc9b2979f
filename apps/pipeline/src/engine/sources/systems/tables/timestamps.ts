/** A moment so many seconds earlier, written without a zone where it was. What cannot be read stays as it is. */
export function subtractSeconds(moment: string, seconds: number): string {
  const time = parseTimestamp(moment)
  return Number.isNaN(time) ? moment : formatLike(moment, time - seconds * 1000)
}

const isZoned = (moment: string): boolean => /(Z|[+-]\d\d:?\d\d)$/i.test(moment)

function formatLike(moment: string, time: number): string {
  const text = new Date(time).toISOString()
  return isZoned(moment) ? text : text.slice(0, 23)
}

/**
 * Where the next reading begins, in the way that `latest` is written. It is so many seconds before the latest moment that was seen, and never
 * later than that many seconds before the reading began: what changed while it was read may have been read before the change. Undefined where
 * nothing was seen, and where the earlier reading began there or later.
 */
export function boundCursor(
  latest: string,
  { began, since, overlap }: { began: number; since?: string | undefined; overlap: number },
): string | undefined {
  if (latest === '') return undefined
  const time = parseTimestamp(latest)
  const next = time > began ? formatLike(latest, Math.floor(began) - overlap * 1000) : subtractSeconds(latest, overlap)
  if (since === undefined) return next
  const [one, other] = [parseTimestamp(next), parseTimestamp(since)]
  return (Number.isNaN(one) || Number.isNaN(other) ? next > since : one > other) ? next : undefined
}

/** Milliseconds since 1970 of a moment, in UTC where it has no zone. */
const parseTimestamp = (moment: string): number => Date.parse(isZoned(moment) ? moment : `${moment}Z`)
