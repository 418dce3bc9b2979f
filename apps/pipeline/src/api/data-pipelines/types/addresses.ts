import { problems } from '@sluice/http-server'

/** Limits of the field `sourceName`. */
const longest = 255

/** Variables get their values in the run. For the validation, a placeholder stands for each. */
const withoutVariables = (text: string): string => text.replaceAll(/\$\{[^{}]*\}/g, 'some-variable')

/**
 * Parses the address of a system. Throws 422 for one with credentials or other extra parts. The host is checked when a run connects to
 * it, because a name can resolve to another address by then.
 */
export function parseAddress(pointer: string, text: string, { query = false, fragment = false } = {}): URL {
  const plain = withoutVariables(text)
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  if (!url?.hostname) throw problems.refused(pointer, 'Invalid address. Use the form https://data.example.org.')
  if (url.username || url.password)
    throw problems.refused(pointer, 'A name and a password go into fields of their own, not into the address.')
  if (url.search && !query)
    throw problems.refused(pointer, 'The address ends before the question mark: leave that out.')
  if (url.hash && !fragment) throw problems.refused(pointer, 'The address ends before the # sign: leave that out.')
  return url
}

/** Normalizes an address, so that addresses of one system are equal. */
export function normalizeAddress(text: string): string {
  // Names of variables are case-sensitive.
  if (!URL.canParse(text) || text.includes('${')) return text
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`
}

/** `registry at db.example.org`. */
export const nameAt = (what: string, url: string): string => `${what} at ${hostOf(url)}`.slice(0, longest)

export const hostOf = (url: string): string => /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url

/** Throws 422 if the last day is before the first. */
export function assertDateOrder({
  startDate,
  endDate,
}: {
  startDate?: string | undefined
  endDate?: string | undefined
}) {
  if (startDate !== undefined && endDate !== undefined && endDate < startDate)
    throw problems.refused('/endDate', `The last day is before the first, ${startDate}.`)
}
