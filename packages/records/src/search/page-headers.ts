interface AnsweredPage {
  /** From 1. */
  page: number
  pageSize: number
  /** Rows on all pages, if they were counted. */
  total?: number
  /** Rows on this page. Tells whether there is a next one when the total is not known. */
  rows?: number
}

/** Characters. Proxies give all headers of an answer 4 kB by default, and a search may be as long as that by itself. */
const longestLink = 3000

/**
 * The headers of one page: X-Page, X-Page-Size, with a known total X-Total-Count and X-Page-Count, and Link to the first,
 * prev, next and last page. `url` is the address that was asked by GET; without it, as for a search by POST, no Link.
 */
export function pageHeaders({ page, pageSize, total, rows }: AnsweredPage, url?: URL | string): Record<string, string> {
  const pageCount = total === undefined ? undefined : Math.max(1, Math.ceil(total / pageSize))
  const hasNext = pageCount === undefined ? rows === undefined || rows >= pageSize : page < pageCount
  const link = url === undefined ? undefined : links(String(url), { page, pageSize, pageCount, hasNext })
  return {
    'X-Page': String(page),
    'X-Page-Size': String(pageSize),
    ...(total !== undefined && { 'X-Total-Count': String(total), 'X-Page-Count': String(pageCount) }),
    ...(link && { Link: link }),
  }
}

interface Place {
  page: number
  pageSize: number
  pageCount: number | undefined
  hasNext: boolean
}

/** RFC 8288, relative to the host, which a proxy may have renamed. `next` is never left out: clients walk by it. */
function links(url: string, { page, pageSize, pageCount, hasNext }: Place): string | undefined {
  const to = (rel: string, target: number) => `<${addressOf(url, target, pageSize)}>; rel="${rel}"`
  const next = hasNext ? [to('next', page + 1)] : []
  const previous = page > 1 ? [to('prev', Math.min(page - 1, pageCount ?? page - 1))] : []
  const last = pageCount === undefined ? [] : [to('last', pageCount)]
  const all = [to('first', 1), ...previous, ...next, ...last].join(', ')
  return all.length <= longestLink ? all : next[0]
}

/** Path and query alone, serialised by URL, which encodes whatever could end the address early. */
function addressOf(url: string, page: number, pageSize: number): string {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  const address = Object.assign(new URL('http://here'), { pathname: path, search: query })
  address.searchParams.delete('paging')
  address.searchParams.set('page', String(page))
  address.searchParams.set('pageSize', String(pageSize))
  // Two slashes at the front would name another host.
  return `${address.pathname.replace(/^\/+/, '/')}${address.search}`
}
