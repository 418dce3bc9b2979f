/** Returns a timestamp `seconds` earlier, without a zone if it had none. Invalid timestamps stay unchanged. */
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
 * Returns the cursor of the next increment, in the format of `latest`. It is `overlap` seconds before the latest timestamp seen,
 * and at most `overlap` seconds before the start of the read, because a record that changed during the read may have been read
 * before its change. Undefined if no timestamp was seen, or if the previous cursor is the same or later.
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

/** Returns milliseconds since 1970 of a timestamp, in UTC without a zone. */
const parseTimestamp = (moment: string): number => Date.parse(isZoned(moment) ? moment : `${moment}Z`)
