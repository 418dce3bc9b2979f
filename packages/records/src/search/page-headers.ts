import { maxOffset } from './plan.ts'

interface AnsweredPage {
  /** From 1. */
  page: number
  pageSize: number
  /** Rows on all pages, if they were counted. */
  total?: number
  /** Rows on this page. Tells whether there is a next one when the total is not known. */
  rows?: number
  /** Is there a page after this one? When absent, total and rows tell. */
  more?: boolean
  /** The place where the next page begins. Without it, next is found by its number. */
  cursor?: string
  /** Was this page found by a cursor? Then nothing leads back: what came before may have changed. */
  byCursor?: boolean
}

/** Characters. Proxies give all headers of an answer 4 kB by default, and a search may be as long as that by itself. */
const maxLinkLength = 3000

/**
 * The headers of one page: X-Page, X-Page-Size, with a known total X-Total-Count and X-Page-Count, X-Next-Cursor where there
 * is one, and Link to the first, prev, next and last page. `url` is the address that gives this page by GET; without it, no
 * Link.
 */
export function pageHeaders(answered: AnsweredPage, url?: URL | string): Record<string, string> {
  const { page, pageSize, total, rows, cursor } = answered
  const pageCount = total === undefined ? undefined : Math.max(1, Math.ceil(total / pageSize))
  const more = answered.more ?? (pageCount === undefined ? rows === undefined || rows >= pageSize : page < pageCount)
  const link = url === undefined ? undefined : linkHeader(String(url), { ...answered, pageCount, more })
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

/** RFC 8288, relative to the host, which a proxy may have renamed. `next` is never left out: clients walk by it. */
function linkHeader(
  url: string,
  { page, pageSize, pageCount, more, cursor, byCursor }: LinkContext,
): string | undefined {
  const to = (rel: string, where: Record<string, string>) =>
    `<${addressOf(url, { ...where, pageSize: String(pageSize) })}>; rel="${rel}"`
  const numbered = (rel: string, target: number) => to(rel, { page: String(target) })
  const next = more ? [cursor === undefined ? numbered('next', page + 1) : to('next', { after: cursor })] : []
  const previous = page > 1 && !byCursor ? [numbered('prev', Math.min(page - 1, pageCount ?? page - 1))] : []
  const reachable = pageCount !== undefined && (pageCount - 1) * pageSize <= maxOffset
  const last = reachable ? [numbered('last', pageCount)] : []
  const all = [numbered('first', 1), ...previous, ...next, ...last].join(', ')
  return all.length <= maxLinkLength ? all : next[0]
}

/** Path and query alone, serialised by URL, which encodes whatever could end the address early. */
function addressOf(url: string, where: Record<string, string>): string {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  const address = Object.assign(new URL('http://here'), { pathname: path, search: query })
  for (const name of ['paging', 'page', 'after']) if (!(name in where)) address.searchParams.delete(name)
  for (const [name, value] of Object.entries(where)) address.searchParams.set(name, value)
  // Two slashes at the front would name another host.
  return `${address.pathname.replace(/^\/+/, '/')}${address.search}`
}
