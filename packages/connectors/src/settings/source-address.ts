import { InvalidSetting } from './connector-definition.ts'

/** Maximum length of the field `dataPipelineSourceName`. */
const maxNameLength = 255

/** Variables get their values in the run. For the validation, a placeholder stands for each. */
const withoutVariables = (text: string): string => text.replaceAll(/\$\{[^{}]*\}/g, 'some-variable')

/**
 * Parses the address of a system. Throws for one with credentials or other extra parts. The host is checked when a run connects to
 * it, because a name can resolve to another address by then.
 */
export function parseAddress(pointer: string, text: string, { query = false, fragment = false } = {}): URL {
  const plain = withoutVariables(text)
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  if (!url?.hostname) throw new InvalidSetting(pointer, 'Invalid address. Use the form https://data.example.org.')
  if (url.username || url.password)
    throw new InvalidSetting(pointer, 'The address must not contain a username or a password. Use the fields for them.')
  if (url.search && !query)
    throw new InvalidSetting(pointer, 'Remove the question mark and everything after it from the address.')
  if (url.hash && !fragment)
    throw new InvalidSetting(pointer, 'Remove the # character and everything after it from the address.')
  return url
}

/** Normalizes an address, so that addresses of one system are equal. */
export function normalizeAddress(text: string): string {
  // Names of variables are case-sensitive.
  if (!URL.canParse(text) || text.includes('${')) return text
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`
}

/** Returns `registry at db.example.org`. */
export const formatNameAt = (what: string, url: string): string => `${what} at ${hostOf(url)}`.slice(0, maxNameLength)

export const hostOf = (url: string): string => /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url

/** Throws if the last day is before the first. */
export function assertDateOrder({
  startDate,
  endDate,
}: {
  startDate?: string | undefined
  endDate?: string | undefined
}) {
  if (startDate !== undefined && endDate !== undefined && endDate < startDate)
    throw new InvalidSetting('/endDate', `The last day is before the first, ${startDate}.`)
}
