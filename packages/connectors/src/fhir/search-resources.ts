import { SourceProblem } from '@sluice/row-stream'
import { parseObject, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { createPagingCheck, createNextCursor } from '../http-connector/paging.ts'
import type { RecordPage } from '../http-connector/http-system-interface.ts'

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
 * Yields the resources of one type, oldest change first. Many servers expire a search after some minutes; it is then
 * restarted from the last change that was read.
 */
export async function* searchResources(
  http: HttpSession,
  request: SearchRequest,
): AsyncGenerator<RecordPage, void, void> {
  const { name, type, path, search = '', getNextPath: follow = (link) => http.resolveLink(link) } = request
  const subject = `The resources of type ${type}`
  const progress = { latest: '', latestTime: -Infinity, isInOrder: true }
  let { since } = request
  let [count, isSorted] = [resourcesPerPage, true]
  let nextPath: string | undefined
  const checkPage = createPagingCheck(name)

  for (;;) {
    const isFirst = nextPath === undefined
    let response: unknown
    try {
      const query = isFirst && { query: createQuery(search, { since, count, isSorted }) }
      response = await http.getJson(nextPath ?? path, { subject, ...query })
    } catch (error) {
      const { code } = error as Partial<SourceProblem>
      const canContinue = isFirst || (isSorted && progress.isInOrder && progress.latest !== '')
      // Some servers reject sorting. The request is then repeated without it.
      if (isFirst && isSorted && code === 'REQUEST_REFUSED') isSorted = false
      else if (canContinue && count > 1 && code === 'ANSWER_TOO_LARGE') count = Math.ceil(count / 4)
      else if (isFirst || code !== 'NOT_FOUND') throw error
      else if (!canContinue || progress.latest === since) throw searchExpiredProblem(error)
      if (!isFirst) [nextPath, since] = [undefined, progress.latest]
      continue
    }
    const records = parseBundle(response, request)
    for (const record of records) updateLatest(record)
    checkPage(records.length > 0)
    const link = findNextLink(response)
    const followingPath = link === undefined ? undefined : follow(link)
    const isLast = followingPath === undefined
    yield { records, cursor: isLast ? createNextCursor(progress.latest, http.startedAt(), request.since) : undefined }
    if (isLast) return
    if (followingPath === nextPath) throw createResponseProblem(name, 'link to another page')
    nextPath = followingPath
  }

  function updateLatest(record: unknown): void {
    const meta = (record as { meta?: { lastUpdated?: unknown } } | null)?.meta
    const lastUpdated = toText(meta?.lastUpdated)
    const time = lastUpdated === undefined ? NaN : Date.parse(lastUpdated)
    if (lastUpdated === undefined || Number.isNaN(time) || time < progress.latestTime) progress.isInOrder = false
    else [progress.latest, progress.latestTime] = [lastUpdated, time]
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

function findNextLink(response: unknown): string | undefined {
  const { link } = response as { link?: unknown }
  const links = Array.isArray(link) ? (link as { relation?: unknown; url?: unknown }[]) : []
  return toText(links.find((item) => item?.relation === 'next')?.url)
}

/**
 * Combines the user's parameters with those of the connector. If both contain a parameter, it is sent twice, and
 * resources must match both values.
 */
function createQuery(
  search: string,
  { since, count, isSorted }: { since: string | undefined; count: number; isSorted: boolean },
): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const [key, value] of new URLSearchParams(search))
    if (!reservedParameters.has(key)) (query[key] ??= []).push(value)
  if (since !== undefined) (query['_lastUpdated'] ??= []).push(`ge${since}`)
  if (isSorted) query['_sort'] = ['_lastUpdated']
  query['_count'] = [String(Math.min(count, Number(query['_count']?.[0]) || count))]
  return query
}

const searchExpiredProblem = (cause: unknown): SourceProblem =>
  new SourceProblem(
    'SOURCE_FAILED',
    'The FHIR server dropped the search before its last page was read. The search cannot be resumed, because the server does not sort by time. Narrow the search, or make the server keep searches longer.',
    { cause },
  )
