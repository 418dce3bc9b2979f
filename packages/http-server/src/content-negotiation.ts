import { problems } from './problem.ts'

const maxHeaderLength = 4_000

/**
 * Throws 406 if the Accept header excludes the response type. The most specific entry decides (RFC 9110); parameters such as
 * charset are ignored. Problem documents are sent regardless of the header.
 */
export function assertAcceptable(header: string | undefined, type: string): void {
  if (header === undefined || header.trim() === '') return
  const [main] = type.split('/')
  const entries = header.slice(0, maxHeaderLength).split(',').map(parseAcceptEntry)
  for (const range of [type, `${main}/*`, '*/*']) {
    const fitting = entries.filter((entry) => entry.range === range && !(entry.quality === 0 && entry.narrowed))
    if (fitting.some(({ quality }) => quality > 0)) return
    if (fitting.length > 0) break
  }
  throw problems.notAcceptable(type)
}

/** Returns whether an Accept header prefers HTML to JSON, as those of browsers do. */
export function prefersHtml(header: string | undefined): boolean {
  const entries = (header ?? '').slice(0, maxHeaderLength).split(',').map(parseAcceptEntry)
  const qualityOf = (...ranges: string[]) =>
    ranges.map((range) => entries.find((entry) => entry.range === range)?.quality).find((found) => found !== undefined)
  const page = qualityOf('text/html') ?? 0
  return page > (qualityOf('application/json', 'application/*', '*/*') ?? 0)
}

function parseAcceptEntry(text: string): { range: string; quality: number; narrowed: boolean } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.map((parameter) => /^q\s*=\s*([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
  return {
    // Old Java clients send `*` alone.
    range: range === '*' ? '*/*' : range,
    quality: quality === undefined ? 1 : Number(quality) || 0,
    narrowed: parameters.length > (quality === undefined ? 0 : 1),
  }
}

/** Returns the language tags of `?locale=` and Accept-Language by preference, at most ten. */
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
