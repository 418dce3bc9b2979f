import { InvalidSetting } from './connector-definition.ts'

/** The maximum length of the API field `dataPipelineSourceName`. */
const maxNameLength = 255

/** Replaces variables with a placeholder, because they only get their values when a run starts. */
const replaceVariables = (text: string): string => text.replaceAll(/\$\{[^{}]*\}/g, 'some-variable')

/**
 * Parses the address of a system. Throws `InvalidSetting` if it contains credentials, or a query or fragment that is
 * not allowed. The host is only checked when a run connects, because its name may resolve to another address by then.
 */
export function parseAddress(
  pointer: string,
  text: string,
  { mayHaveQuery = false, mayHaveFragment = false } = {},
): URL {
  const addressWithoutVariables = replaceVariables(text)
  const url = URL.canParse(addressWithoutVariables) ? new URL(addressWithoutVariables) : undefined
  if (!url?.hostname) throw new InvalidSetting(pointer, 'Invalid address. Use the form https://data.example.org.')
  if (url.username || url.password)
    throw new InvalidSetting(pointer, 'The address contains a username or password. Use the fields for them.')
  if (url.search && !mayHaveQuery)
    throw new InvalidSetting(pointer, 'Remove the question mark and everything after it from the address.')
  if (url.hash && !mayHaveFragment)
    throw new InvalidSetting(pointer, 'Remove the # character and everything after it from the address.')
  return url
}

/** Normalises an address, so that different spellings of the same address become equal. */
export function normalizeAddress(text: string): string {
  // Variable names are case-sensitive, so an address with a variable stays unchanged.
  if (!URL.canParse(text) || text.includes('${')) return text
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`
}

/** Returns a display name such as `registry at db.example.org`. */
export const formatNameAt = (contentName: string, url: string): string =>
  `${contentName} at ${getHost(url)}`.slice(0, maxNameLength)

/** Returns the host and port of an address, which may contain variables. */
export const getHost = (url: string): string => /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url

/** Throws `InvalidSetting` if the last day is before the first day. */
export function assertDateOrder({
  startDate,
  endDate,
}: {
  startDate?: string | undefined
  endDate?: string | undefined
}) {
  if (startDate !== undefined && endDate !== undefined && endDate < startDate)
    throw new InvalidSetting('/endDate', `The last day is before the first day, ${startDate}. Correct one of them.`)
}
