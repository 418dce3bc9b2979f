import { SourceProblem } from '@sluice/row-stream'
import { parseObject, createResponseProblem, toArray, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { createPagingCheck, createNextCursor } from '../http-connector/paging.ts'
import type { RecordPage } from '../http-connector/http-system.ts'

export interface SearchRequest {
  name: string
  type: string
  path: string
  /** Search parameters that the user entered in the settings. */
  search?: string | undefined
  /** A timestamp. Requests only resources that changed at or after it. */
  since?: string | undefined
  /** Converts the link to the next page to a path. By default, links to other hosts are rejected. */
  getNextPath?(link: string): string
}

const resourcesPerPage = 200
/** Search parameters of the user that are ignored, because they would change the pages of the result. */
const reservedParameters = new Set(['_sort', '_format', '_total', '_summary'])

/**
 * Yields the resources of one type, oldest change first. The search is restarted from the last change that was read if
 * the server drops it, as many do after some minutes, or if a page is too large. It is repeated without sorting if the
 * server rejects that. Throws `SourceProblem` if the search cannot be restarted.
 */
export async function* searchResources(
  http: HttpSession,
  request: SearchRequest,
): AsyncGenerator<RecordPage, void, void> {
  const { name, type, path, search = '', getNextPath = (link: string) => http.resolveLink(link) } = request
  const subject = `The resources of type ${type}`
  const progress = { latest: '', latestTime: -Infinity, isInOrder: true }
  let { since } = request
  let pageSize = resourcesPerPage
  let isSorted = true
  let nextPath: string | undefined
  const checkPage = createPagingCheck(name)

  for (;;) {
    const isFirstPage = nextPath === undefined
    let response: unknown
    try {
      // The link to a next page already contains the query.
      const query = isFirstPage && { query: createQuery(search, { since, pageSize, isSorted }) }
      response = await http.getJson(nextPath ?? path, { subject, ...query })
    } catch (error) {
      const { code } = error as Partial<SourceProblem>
      const canRestart = isFirstPage || (isSorted && progress.isInOrder && progress.latest !== '')
      const isSortingRejected = isFirstPage && isSorted && code === 'REQUEST_REFUSED'
      const isPageTooLarge = canRestart && pageSize > 1 && code === 'ANSWER_TOO_LARGE'
      const hasSearchExpired = !isFirstPage && code === 'NOT_FOUND'
      if (isSortingRejected) isSorted = false
      else if (isPageTooLarge) pageSize = Math.ceil(pageSize / 4)
      else if (!hasSearchExpired) throw error
      // A restart from the same change would read the same pages and expire again.
      else if (!canRestart || progress.latest === since) throw createSearchExpiredProblem(error)
      if (!isFirstPage) {
        nextPath = undefined
        since = progress.latest
      }
      continue
    }
    const records = parseBundle(response, request)
    for (const record of records) updateLatest(record)
    checkPage(records.length > 0)
    const link = findNextLink(response)
    const followingPath = link === undefined ? undefined : getNextPath(link)
    const isLast = followingPath === undefined
    yield { records, cursor: isLast ? createNextCursor(progress.latest, http.startedAt(), request.since) : undefined }
    if (isLast) return
    if (followingPath === nextPath) throw createResponseProblem(name, 'link to another page')
    nextPath = followingPath
  }

  /**
   * Records the change time of a resource. Detects whether the server returns resources in the order of their changes.
   */
  function updateLatest(record: unknown): void {
    const meta = (record as { meta?: { lastUpdated?: unknown } } | null)?.meta
    const lastUpdated = toText(meta?.lastUpdated)
    const time = lastUpdated === undefined ? NaN : Date.parse(lastUpdated)
    if (lastUpdated === undefined || Number.isNaN(time) || time < progress.latestTime) {
      progress.isInOrder = false
      return
    }
    progress.latest = lastUpdated
    progress.latestTime = time
  }
}

/** Requests one resource of a type to check access. Throws `SourceProblem`. */
export async function testSearch(
  http: HttpSession,
  request: Pick<SearchRequest, 'name' | 'type' | 'path'>,
): Promise<void> {
  const subject = `The resources of type ${request.type}`
  parseBundle(await http.getJson(request.path, { query: { _count: 1 }, subject }), request)
}

/**
 * Returns the resources of a Bundle without the field `resourceType`, which is the table's name. Leaves out
 * resources of other types that the search included. Throws `SourceProblem` OTHER_PROTOCOL if the response is not a
 * Bundle.
 */
function parseBundle(response: unknown, { name, type }: Pick<SearchRequest, 'name' | 'type'>): unknown[] {
  const { resourceType, entry = [] } = parseObject(response, name)
  if (resourceType !== 'Bundle' || !Array.isArray(entry)) throw createResponseProblem(name, 'Bundle')
  return (entry as unknown[]).flatMap((item) => {
    const { resource, search } = parseObject(item, name) as { resource?: unknown; search?: { mode?: unknown } }
    const { resourceType: entryType, ...fields } = parseObject(resource ?? {}, name)
    return entryType === type && (search?.mode ?? 'match') === 'match' ? [fields] : []
  })
}

/** Returns the link to the next page, or undefined on the last page. */
function findNextLink(response: unknown): string | undefined {
  const { link } = response as { link?: unknown }
  const links = toArray(link) as { relation?: unknown; url?: unknown }[]
  return toText(links.find((item) => item?.relation === 'next')?.url)
}

/**
 * Combines the user's parameters with those of the connector. If the user also filters by `_lastUpdated`, both values
 * are sent, and resources must match both. The page size is the smaller one of both.
 */
function createQuery(
  search: string,
  { since, pageSize, isSorted }: { since: string | undefined; pageSize: number; isSorted: boolean },
): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const [key, value] of new URLSearchParams(search))
    if (!reservedParameters.has(key)) (query[key] ??= []).push(value)
  if (since !== undefined) (query['_lastUpdated'] ??= []).push(`ge${since}`)
  if (isSorted) query['_sort'] = ['_lastUpdated']
  const userPageSize = Number(query['_count']?.[0]) || pageSize
  query['_count'] = [String(Math.min(pageSize, userPageSize))]
  return query
}

const createSearchExpiredProblem = (cause: unknown): SourceProblem =>
  new SourceProblem(
    'SOURCE_FAILED',
    'The FHIR server dropped the search before its last page was read. The search cannot be resumed, because the server does not sort by time. Narrow the search, or make the server keep searches longer.',
    { cause },
  )
