import { formatCount } from '@sluice/row-stream'
import { isExactNumber } from '../../http-connector/exact-json.ts'
import { toText } from '../../http-connector/parse-response.ts'
import { findAtPath } from './json-path.ts'
import { createProtocolProblem } from './rest-records.ts'
import { formatParameter, type RestApiSettings, type RestParameters, type RestResponse } from './rest-request.ts'

type RestPaging = NonNullable<RestApiSettings['paging']>

/** The next request: a link's target, or the first request with other parameters. */
export type NextPage = { link: string } | { parameters: RestParameters }

/** Finds the next page during one read. */
export interface RestPager {
  /** The paging parameters of the first request. */
  first: RestParameters
  /**
   * Returns the request for the next page, or undefined after the last page. Throws `SourceProblem` if the pages
   * contradict each other.
   */
  findNext(response: RestResponse, records: readonly unknown[]): NextPage | undefined
  /** Returns whether “not found” as the response to the next request means that the last page was read. */
  endsWhenNotFound(): boolean
  /** Returns a warning if the API has records that were not read. */
  findWarning(): string | undefined
}

/** The maximum number of consecutive empty pages before the end that `total` announces. */
const maxSkippedPages = 10

/**
 * Creates the pager for the paging type of the settings. It adds the page size to the parameters of each request, and
 * compares the number of records with the total that the API announces.
 */
export function createPager(paging: RestPaging | undefined): RestPager {
  const sizeParameters = paging?.sizeParameter === undefined ? {} : { [paging.sizeParameter]: paging.size }
  const count = createRecordCount(paging)
  const strategy = paging ? createStrategy(paging, count) : createSinglePageStrategy()
  const isCounting = paging?.type === 'PAGE' || paging?.type === 'OFFSET'
  // The other strategies request only pages that the API has announced.
  const guessesNextPage = isCounting && paging.hasMore === undefined
  let hasReadLastPage = false
  return {
    first: { ...sizeParameters, ...strategy.first },
    findNext(response, records) {
      count.addPage(response, records)
      const next = strategy.findNext(response, records)
      hasReadLastPage = next === undefined
      // A link already contains the page size.
      if (!next || 'link' in next) return next
      return { parameters: { ...sizeParameters, ...next.parameters } }
    },
    endsWhenNotFound: () => guessesNextPage && count.received > 0 && !count.isIncomplete(),
    findWarning() {
      const lacksRecords = hasReadLastPage && count.isIncomplete()
      if (!lacksRecords) return strategy.findWarning?.()
      return `The API announced ${formatCount(count.total!, 'record')} and returned ${count.received}. Check the paging (restApi.paging), or run again if records were deleted during the read.`
    },
  }
}

type PagingStrategy = Pick<RestPager, 'first' | 'findNext'> & Partial<Pick<RestPager, 'findWarning'>>

/** Returns the strategy without paging: it reads one page, and warns if the response has a link to a next page. */
function createSinglePageStrategy(): PagingStrategy {
  let hasNextPage = false
  return {
    first: {},
    findNext({ headers }) {
      hasNextPage = findNextLink(headers) !== undefined
      return undefined
    },
    findWarning: () =>
      hasNextPage
        ? 'Only the first page was read, but its Link header points to a next page. Set restApi.paging.type to LINK_HEADER.'
        : undefined,
  }
}

/** Returns the strategy for the paging type. `count` contains the records of the pages read so far. */
function createStrategy(paging: RestPaging, count: RecordCount): PagingStrategy {
  switch (paging.type) {
    case 'LINK_HEADER':
      return createLinkStrategy(({ headers }) => findNextLink(headers), 'the header Link')
    case 'NEXT_LINK':
      return createLinkStrategy(({ json }) => readNextLink(json, paging.path!), 'restApi.paging.path')
    case 'CURSOR':
      return createCursorStrategy(paging)
    case 'PAGE':
    case 'OFFSET':
      return createCountingStrategy(paging, count)
  }
}

/** Returns the strategy that follows the link in each response. `field` names the source of the link in messages. */
function createLinkStrategy(findLink: (response: RestResponse) => string | undefined, field: string): PagingStrategy {
  const assertNoLoop = createLoopCheck(field)
  return {
    first: {},
    findNext(response) {
      const link = findLink(response)
      if (link === undefined) return undefined
      assertNoLoop(link)
      return { link }
    },
  }
}

/**
 * Returns the link at a path, or undefined on the last page. Throws `SourceProblem` if the value is not a text, such as
 * an object that contains the link.
 */
function readNextLink(json: unknown, path: string): string | undefined {
  const link = findAtPath(json, path)
  if (isAbsent(link)) return undefined
  if (typeof link === 'string') return link
  throw createProtocolProblem(
    `The response has no link under "${path}" (restApi.paging.path), but ${describeValue(link)}. Set the path of the link, or another type of paging.`,
  )
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'boolean') return 'a boolean'
  return typeof value === 'object' && !isExactNumber(value) ? 'an object' : 'a number'
}

/**
 * Returns the strategy that sends the cursor of each response, or of its last record, with the next request. It ends if
 * `hasMore` is false or the cursor is missing. Throws if the cursor is missing although more records are announced, if
 * the last record has no cursor, or if cursors repeat.
 */
function createCursorStrategy({ path, lastRecordField, parameter, hasMore }: RestPaging): PagingStrategy {
  const assertNoLoop = createLoopCheck('restApi.paging')
  return {
    first: {},
    findNext({ json }, records) {
      const announcesMore = readHasMore(json, hasMore)
      if (announcesMore === false) return undefined
      const isInLastRecord = lastRecordField !== undefined
      const cursor = isInLastRecord ? findAtPath(records.at(-1), lastRecordField) : findAtPath(json, path!)
      if (!isAbsent(cursor)) {
        assertNoLoop(formatParameter(cursor))
        return { parameters: { [parameter!]: cursor } }
      }
      const lacksField = isInLastRecord && records.length > 0
      if (announcesMore || lacksField) throw createMissingCursorProblem(lastRecordField ?? path!, lacksField)
      return undefined
    },
  }
}

/** True if the value of a link or cursor means that this is the last page. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '' || value === false

const createMissingCursorProblem = (path: string, lacksField: boolean) =>
  createProtocolProblem(
    lacksField
      ? `The last record of a page has no "${path}", so the next page cannot be requested. Correct restApi.paging.lastRecordField.`
      : `The API has more pages (restApi.paging.hasMore), but its response has no cursor under "${path}". Correct restApi.paging.path.`,
  )

/**
 * Returns the strategy that requests the next page number or offset. Without `hasMore`, the last page is the first
 * empty one, because a server may return fewer records than requested on any page. With `hasMore`, the page that says
 * false is the last one. If `total` announces more records, up to `maxSkippedPages` empty pages are skipped. Some
 * servers respond with “not found” instead of an empty page (`endsWhenNotFound`). Throws if two consecutive pages are
 * equal, unless `total` shows that this is the end.
 */
function createCountingStrategy(paging: RestPaging, count: RecordCount): PagingStrategy {
  const { type, parameter, firstPage = 1, size, hasMore, total } = paging
  let position = type === 'PAGE' ? firstPage : 0
  let consecutiveEmptyPages = 0
  let previousPage: { summary: string; size: number } | undefined

  /** Returns true if an empty page is the last one. */
  function endsAtEmptyPage(): boolean {
    if (hasMore !== undefined) return false
    return !count.isIncomplete() || consecutiveEmptyPages >= maxSkippedPages
  }

  /** Returns the difference to the next page number or offset. An empty page counts as a page of the usual size. */
  function getStep(pageLength: number): number {
    if (type === 'PAGE') return 1
    return pageLength || size || previousPage?.size || 1
  }

  return {
    first: { [parameter!]: position },
    findNext({ json }, records) {
      if (readHasMore(json, hasMore) === false) return undefined
      const isEmpty = records.length === 0
      const summary = summarizePage(records)
      const isRepeated = !isEmpty && summary === previousPage?.summary
      if (isRepeated) {
        const hasAllRecords = total !== undefined && !count.isIncomplete()
        if (hasAllRecords) return undefined
        throw createRepeatedPageProblem(parameter!)
      }
      consecutiveEmptyPages = isEmpty ? consecutiveEmptyPages + 1 : 0
      if (isEmpty && endsAtEmptyPage()) return undefined
      position += getStep(records.length)
      if (!isEmpty) previousPage = { summary, size: records.length }
      return { parameters: { [parameter!]: position } }
    },
  }
}

/** Returns a text that is equal for pages with the same number of records and the same first and last record. */
const summarizePage = (records: readonly unknown[]): string =>
  JSON.stringify([records.length, records[0], records.at(-1)])

const createRepeatedPageProblem = (parameter: string) =>
  createProtocolProblem(
    `The API returned the same records for two values of "${parameter}" (restApi.paging.parameter), so it ignores this parameter or repeats its last page. Correct the parameter, or set restApi.paging.hasMore or total.`,
  )

/**
 * Returns the boolean at the path of `hasMore`, which is true if the API has further pages. Returns undefined if the
 * settings name no such field. Throws `SourceProblem` for any other value.
 */
function readHasMore(json: unknown, path: string | undefined): boolean | undefined {
  if (path === undefined) return undefined
  const value = findAtPath(json, path)
  if (typeof value === 'boolean') return value
  throw createProtocolProblem(
    `The response has no true or false under "${path}". Correct restApi.paging.hasMore, or leave it out.`,
  )
}

/** Counts the records of one read, and compares them with the total number that the API announces. */
interface RecordCount {
  received: number
  /** The total number of records in the last response that contained one. */
  total: number | undefined
  addPage(response: RestResponse, records: readonly unknown[]): void
  /** Returns true if fewer records were received than the API announced. */
  isIncomplete(): boolean
}

/** Returns a count without records. Its `addPage` throws `SourceProblem` if no response yet contained the total. */
function createRecordCount(paging: RestPaging | undefined): RecordCount {
  const path = paging?.total
  const count: RecordCount = {
    received: 0,
    total: undefined,
    addPage({ json }, records) {
      count.received += records.length
      if (path === undefined) return
      const value = Number(toText(findAtPath(json, path)) ?? Number.NaN)
      if (Number.isFinite(value)) count.total = value
      else if (count.total === undefined)
        throw createProtocolProblem(
          `The response has no number under "${path}". Correct restApi.paging.total, or leave it out.`,
        )
    },
    isIncomplete: () => count.total !== undefined && count.received < count.total,
  }
  return count
}

/**
 * Returns a function that receives the link or cursor of each page and throws `SourceProblem` OTHER_PROTOCOL if they
 * repeat, because the read would never end. It compares each one with a single earlier one, which it replaces after 1,
 * 2, 4, 8, … pages (Brent's algorithm). So it detects a loop of n pages within 3n pages.
 */
function createLoopCheck(field: string): (position: string) => void {
  let earlierPosition: string | undefined
  let pagesSinceEarlier = 0
  let pagesUntilReplacement = 1
  return (position) => {
    if (position === earlierPosition)
      throw createProtocolProblem(
        `The API returned a page again that was already read, so its pages would repeat forever. Check ${field}, and that the API supports this paging.`,
      )
    pagesSinceEarlier += 1
    if (pagesSinceEarlier < pagesUntilReplacement) return
    earlierPosition = position
    pagesSinceEarlier = 0
    pagesUntilReplacement *= 2
  }
}

const linkPattern = /<([^<>]*)>([^<]*)/g
const relationPattern = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i

/**
 * Returns the target of the link with relation `next` in the header `Link` (RFC 8288), or undefined if it is missing.
 */
function findNextLink(headers: Headers): string | undefined {
  for (const [, target = '', parameters = ''] of (headers.get('link') ?? '').matchAll(linkPattern)) {
    const [, quotedRelations, relation = ''] = relationPattern.exec(parameters) ?? []
    const isNext = (quotedRelations ?? relation).toLowerCase().split(/\s+/).includes('next')
    // Some APIs always link to a next page. This parameter then says whether it has records.
    if (isNext && !/;\s*results\s*=\s*"?false/i.test(parameters)) return target
  }
  return undefined
}
