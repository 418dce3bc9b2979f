import { InvalidSetting } from './connector-definition.ts'

/** Maximum length of the field `dataPipelineSourceName`. */
const maxNameLength = 255

/** Replaces variables with a placeholder, because they get their values only when a run starts. */
const replaceVariables = (text: string): string => text.replaceAll(/\$\{[^{}]*\}/g, 'some-variable')

/**
 * Parses the address of a system. Throws `InvalidSetting` for credentials or other extra parts in it. The host is checked when
 * a run connects, because a name can resolve to another address by then.
 */
export function parseAddress(pointer: string, text: string, { query = false, fragment = false } = {}): URL {
  const plain = replaceVariables(text)
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  if (!url?.hostname) throw new InvalidSetting(pointer, 'Invalid address. Use the form https://data.example.org.')
  if (url.username || url.password)
    throw new InvalidSetting(pointer, 'The address contains a username or password. Use the fields for them.')
  if (url.search && !query)
    throw new InvalidSetting(pointer, 'Remove the question mark and everything after it from the address.')
  if (url.hash && !fragment)
    throw new InvalidSetting(pointer, 'Remove the # character and everything after it from the address.')
  return url
}

/** Returns an address in the form that is equal for all spellings of the same address. */
export function normalizeAddress(text: string): string {
  // Names of variables are case-sensitive, so a host with a variable is not lower-cased.
  if (!URL.canParse(text) || text.includes('${')) return text
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`
}

/** Returns a display name such as `registry at db.example.org`. */
export const formatNameAt = (what: string, url: string): string => `${what} at ${getHost(url)}`.slice(0, maxNameLength)

export const getHost = (url: string): string => /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url

/** Throws `InvalidSetting` if the last day is before the first. */
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
