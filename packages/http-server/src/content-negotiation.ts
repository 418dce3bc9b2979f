import { problems } from './problem.ts'

const maxHeaderLength = 4_000

/**
 * Returns the type that the Accept header prefers; among equal ones, the first. For each type its most specific entry
 * counts (RFC 9110); parameters such as charset are ignored. Throws 406 if the header excludes all types, unless the
 * query chooses the type (`isOverridden`). Problem documents are sent regardless of the header.
 */
export function chooseType(
  header: string | undefined,
  types: readonly string[],
  { isOverridden = false }: { isOverridden?: boolean } = {},
): string {
  const [first = ''] = types
  if (header === undefined || header.trim() === '') return first
  const entries = header.slice(0, maxHeaderLength).split(',').map(parseAcceptEntry)
  const qualities = types.map((type) => findQuality(entries, type))
  const best = Math.max(...qualities)
  if (best > 0) return types[qualities.indexOf(best)]!
  if (isOverridden) return first
  throw problems.notAcceptable(...types)
}

/**
 * Returns the quality value of the most specific entry for a type, or 0 if no entry matches. Ignores an entry with
 * parameters and quality 0, because it excludes only some documents of the type.
 */
function findQuality(entries: readonly AcceptEntry[], type: string): number {
  const [mainType] = type.split('/')
  for (const range of [type, `${mainType}/*`, '*/*']) {
    const matching = entries.filter((entry) => entry.range === range && !(entry.quality === 0 && entry.narrowed))
    if (matching.length > 0) return Math.max(...matching.map(({ quality }) => quality))
  }
  return 0
}

/** True if an Accept header prefers HTML to JSON, as browsers do. */
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
  /** True if the entry has parameters and so covers only some documents of the type. */
  narrowed: boolean
}

function parseAcceptEntry(text: string): AcceptEntry {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.map((parameter) => /^q\s*=\s*([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
  return {
    // Old Java HTTP clients send only `*`.
    range: range === '*' ? '*/*' : range,
    quality: quality === undefined ? 1 : Number(quality) || 0,
    narrowed: parameters.length > (quality === undefined ? 0 : 1),
  }
}

/** Returns the language tags of `?locale=` and Accept-Language in order of preference, at most ten. */
export function requestedLocales(wanted: string | undefined, header: string | undefined): string[] {
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
  return [...(wanted ? [wanted] : []), ...accepted].slice(0, 10)
}
