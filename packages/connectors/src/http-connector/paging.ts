import { SourceProblem } from '@sluice/row-stream'

/**
 * Requests a page of `limit` items, and a quarter of them whenever the response exceeds the size limit. Returns the last page size, so that
 * the next page starts with it.
 */
export async function requestFittingPage<T>(
  limit: number,
  ask: (limit: number) => Promise<T>,
): Promise<{ answer: T; limit: number }> {
  for (let some = limit; ; some = Math.ceil(some / 4)) {
    try {
      return { answer: await ask(some), limit: some }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ANSWER_TOO_LARGE' || some <= 1) throw error
    }
  }
}

/** Consecutive pages without a new record. Real systems return a few of them; this many mean that paging never ends. */
const maxEmptyPages = 1_000

/**
 * Returns a function to call after each page with whether the page had new records. It throws `SourceProblem` OTHER_PROTOCOL after a
 * thousand consecutive pages without new records, because such a list never ends.
 */
export function detectEndlessPaging(system: string): (brought: boolean) => void {
  let empty = 0
  return (brought) => {
    empty = brought ? 0 : empty + 1
    if (empty > maxEmptyPages) throw endlessPagingProblem(system)
  }
}

const endlessPagingProblem = (system: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `${system[0]!.toUpperCase()}${system.slice(1)} has given more than ${maxEmptyPages} pages in a row that bring nothing new, and always another one to come: its last page has to be the last, so look at how it gives pages, or narrow down what is loaded.`,
  )

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
