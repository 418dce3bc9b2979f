const linkPattern = /<([^<>]*)>([^<]*)/g
const relationPattern = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i

/** Returns the target of the link with the relation `next` in a header `Link` (RFC 8288). Returns undefined without one. */
export function findNextLink(headers: Headers): string | undefined {
  for (const [, target = '', parameters = ''] of (headers.get('link') ?? '').matchAll(linkPattern)) {
    const [, quoted, plain = ''] = relationPattern.exec(parameters) ?? []
    const isNext = (quoted ?? plain).toLowerCase().split(/\s+/).includes('next')
    // Some APIs always link to a next page, and say in this parameter whether it has records.
    if (isNext && !/;\s*results\s*=\s*"?false/i.test(parameters)) return target
  }
  return undefined
}
