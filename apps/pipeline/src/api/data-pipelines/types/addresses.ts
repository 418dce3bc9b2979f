import { problems } from '@sluice/http'

/** Bounds of what `sourceName` may answer. */
const longest = 255

/** A variable stands for what is known at the run only: here it passes for a part of a name. */
const withoutVariables = (text: string): string => text.replaceAll(/\$\{[^{}]*\}/g, 'some-variable')

/**
 * Refuses an address that says more than where a system is. Whether its host may be reached is decided when it is, as with
 * databases: a name can lead elsewhere by then.
 */
export function parseAddress(pointer: string, text: string, { query = false, fragment = false } = {}): URL {
  const plain = withoutVariables(text)
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  if (!url?.hostname) throw problems.refused(pointer, 'This is no address: write it like https://data.example.org.')
  if (url.username || url.password)
    throw problems.refused(pointer, 'A name and a password go into fields of their own, not into the address.')
  if (url.search && !query)
    throw problems.refused(pointer, 'The address ends before the question mark: leave that out.')
  if (url.hash && !fragment) throw problems.refused(pointer, 'The address ends before the # sign: leave that out.')
  return url
}

/** Two addresses of one system are written alike by this: what secrets are meant for. */
export function sameAddress(text: string): string {
  // Names of variables are not the same in capitals.
  if (!URL.canParse(text) || text.includes('${')) return text
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`
}

/** `registry at db.example.org`. */
export const nameAt = (what: string, url: string): string => `${what} at ${hostOf(url)}`.slice(0, longest)

export const hostOf = (url: string): string => /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url

/** Refuses a day that is before the other. */
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
