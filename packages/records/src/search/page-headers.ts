import { maxOffset } from './search-plan.ts'

interface AnsweredPage {
  /** The page number, from 1. */
  page: number
  pageSize: number
  /** The number of rows on all pages, if they were counted. */
  total?: number
  /** The number of rows on this page. If the total is unknown, a full page implies a next page. */
  rows?: number
  /** Whether another page follows. Default: derived from `total` or `rows`. */
  more?: boolean
  /** The cursor of the next page. If absent, the link to the next page contains a page number. */
  cursor?: string
  /** Whether this page was requested by a cursor. Such a page has no `prev` link. */
  byCursor?: boolean
  /** Whether the list does not accept page numbers. */
  onlyCursors?: boolean
}

/**
 * The maximum characters of the Link header. By default, proxies allow 4 kB for all response headers, and a search can
 * be that long.
 */
const maxLinkLength = 3000

/**
 * Returns the headers of one page: X-Page, X-Page-Size; X-Total-Count and X-Page-Count if the total is known;
 * X-Next-Cursor if there is a cursor; and Link to the first, prev, next and last page. `url` is the GET address of this
 * page; without it, the Link header is left out.
 */
export function buildPageHeaders(answered: AnsweredPage, url?: URL | string): Record<string, string> {
  const { page, pageSize, total, rows, cursor } = answered
  const pageCount = total === undefined ? undefined : Math.max(1, Math.ceil(total / pageSize))
  const isFullPage = rows === undefined || rows >= pageSize
  const isBeforeLast = pageCount === undefined ? isFullPage : page < pageCount
  const more = answered.more ?? isBeforeLast
  const link = url === undefined ? undefined : buildLinkHeader(String(url), { ...answered, pageCount, more })
  return {
    'X-Page': String(page),
    'X-Page-Size': String(pageSize),
    ...(total !== undefined && { 'X-Total-Count': String(total), 'X-Page-Count': String(pageCount) }),
    ...(more && cursor !== undefined && { 'X-Next-Cursor': cursor }),
    ...(link && { Link: link }),
  }
}

interface LinkContext extends AnsweredPage {
  pageCount: number | undefined
  more: boolean
}

/**
 * Returns the Link header (RFC 8288) with addresses relative to the host. If it is too long, returns only the link to
 * the next page, or undefined on the last page.
 */
function buildLinkHeader(
  url: string,
  { page, pageSize, pageCount, more, cursor, byCursor, onlyCursors }: LinkContext,
): string | undefined {
  const linkTo = (rel: string, pageParameters: Record<string, string>) =>
    `<${replacePageParameters(url, { ...pageParameters, pageSize: String(pageSize) })}>; rel="${rel}"`
  const linkToPage = (rel: string, target: number) => linkTo(rel, { page: String(target) })
  const first = onlyCursors ? linkTo('first', {}) : linkToPage('first', 1)

  const hasPrevious = page > 1 && !byCursor && !onlyCursors
  // The page before a page after the last one is the last one.
  const previousPage = Math.min(page - 1, pageCount ?? page - 1)
  const previous = hasPrevious ? linkToPage('prev', previousPage) : undefined

  const linkToNext = () => (cursor === undefined ? linkToPage('next', page + 1) : linkTo('next', { after: cursor }))
  const next = more ? linkToNext() : undefined

  const isLastReachable = pageCount !== undefined && (pageCount - 1) * pageSize <= maxOffset
  const last = isLastReachable ? linkToPage('last', pageCount) : undefined

  const header = [first, previous, next, last].filter((link) => link !== undefined).join(', ')
  return header.length <= maxLinkLength ? header : next
}

/**
 * Returns the path and query of `url` with its paging parameters replaced by `pageParameters`. Serializes with `URL`,
 * which escapes characters that would end the link early.
 */
function replacePageParameters(url: string, pageParameters: Record<string, string>): string {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  const address = Object.assign(new URL('http://here'), { pathname: path, search: query })
  for (const name of ['paging', 'page', 'after']) if (!(name in pageParameters)) address.searchParams.delete(name)
  for (const [name, value] of Object.entries(pageParameters)) address.searchParams.set(name, value)
  // Two leading slashes would be read as a host.
  return `${address.pathname.replace(/^\/+/, '/')}${address.search}`
}
