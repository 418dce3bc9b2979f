import { problems } from './problem.ts'

const maxHeaderLength = 4_000

/**
 * Returns the type that the Accept header prefers; among equally preferred types, the first. For each type, the most
 * specific entry of the header counts (RFC 9110), and parameters such as charset are ignored. If the header excludes
 * all types, throws 406. With `isTypeInQuery`, the query chooses the type later, so the first type is returned instead.
 */
export function chooseType(
  header: string | undefined,
  types: readonly string[],
  { isTypeInQuery = false }: { isTypeInQuery?: boolean } = {},
): string {
  const [first = ''] = types
  if (header === undefined || header.trim() === '') return first
  const entries = header.slice(0, maxHeaderLength).split(',').map(parseAcceptEntry)
  const qualities = types.map((type) => findQuality(entries, type))
  const bestQuality = Math.max(...qualities)
  if (bestQuality > 0) return types[qualities.indexOf(bestQuality)]!
  if (isTypeInQuery) return first
  throw problems.notAcceptable(...types)
}

/**
 * Returns the quality value of the most specific entry for a type, or 0 if no entry matches. Ignores an entry with
 * parameters and quality 0, because it excludes only some documents of the type.
 */
function findQuality(entries: readonly AcceptEntry[], type: string): number {
  const [mainType] = type.split('/')
  for (const range of [type, `${mainType}/*`, '*/*']) {
    const matching = entries.filter((entry) => entry.range === range && !(entry.quality === 0 && entry.hasParameters))
    if (matching.length > 0) return Math.max(...matching.map(({ quality }) => quality))
  }
  return 0
}

/** Returns whether an Accept header prefers HTML to JSON, as those of browsers do. */
export function prefersHtml(header: string | undefined): boolean {
  const entries = (header ?? '').slice(0, maxHeaderLength).split(',').map(parseAcceptEntry)
  /** Returns the quality value of the first of these ranges that the header contains. */
  const qualityOf = (...ranges: string[]) =>
    ranges
      .map((range) => entries.find((entry) => entry.range === range)?.quality)
      .find((quality) => quality !== undefined) ?? 0
  return qualityOf('text/html') > qualityOf('application/json', 'application/*', '*/*')
}

interface AcceptEntry {
  range: string
  quality: number
  /** Whether the entry has parameters, so that it covers only some documents of the type. */
  hasParameters: boolean
}

/** Parses an entry of an Accept header, such as `text/csv;q=0.8`. */
function parseAcceptEntry(text: string): AcceptEntry {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const qualityText = parameters.map((parameter) => /^q\s*=\s*([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
  const hasQuality = qualityText !== undefined
  return {
    // Old Java HTTP clients send only `*`.
    range: range === '*' ? '*/*' : range,
    quality: hasQuality ? Number(qualityText) || 0 : 1,
    hasParameters: parameters.length > (hasQuality ? 1 : 0),
  }
}

/**
 * Returns at most ten language tags in order of preference: first the query parameter `locale`, then the tags of the
 * Accept-Language header.
 */
export function listRequestedLocales(parameter: string | undefined, header: string | undefined): string[] {
  const accepted = (header ?? '')
    .slice(0, 500)
    .split(',')
    .map((entry) => {
      const [tag = '', quality] = entry.trim().split(/\s*;\s*q=/i)
      return { tag, quality: quality === undefined ? 1 : Number(quality) || 0 }
    })
    .filter(({ tag, quality }) => /^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/.test(tag) && quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
  return [...(parameter ? [parameter] : []), ...accepted].slice(0, 10)
}
