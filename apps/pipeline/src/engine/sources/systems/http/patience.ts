/** How often and how patiently something is asked again. */
export interface Patience {
  tries: number
  /** Seconds before the second try; each further one waits twice as long, up to `most`. */
  first: number
  most: number
}

/** A load has time; whoever sits in front of a form has not. */
export const patient: Patience = { tries: 6, first: 1, most: 60 }
export const impatient: Patience = { tries: 2, first: 0.3, most: 5 }

/** Seconds for which a system may have itself left alone; one that asks for more ends the reading. */
export const longestRest = 900

/** Seconds until the next try: at the earliest when the system wants it, and a fifth less or more, so that readers part. */
export function waitFor({ first, most }: Patience, tried: number, retryAfter = 0): number {
  const backoff = Math.min(most, first * 2 ** (tried - 1)) * (0.8 + Math.random() * 0.4)
  return Math.max(backoff, retryAfter)
}

/** Retry-After: seconds, whole or not, or a date. */
export function retryAfter(headers: Headers, now = Date.now()): number | undefined {
  const given = headers.get('retry-after')
  if (given === null) return undefined
  const seconds = Number(given)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(given)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
