import { SourceProblem } from '@sluice/row-stream'
import { parseObject, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { RequestOptions, HttpSession } from '../http-connector/http-session.ts'
import { detectEndlessPaging, boundCursor } from '../http-connector/paging.ts'
import { overlapSeconds, type RecordPage } from '../http-connector/http-system.ts'

export const lastUpdated = 'meta.lastUpdated'

export interface SearchFilter {
  /** Only resources that changed at or after this timestamp. */
  since?: string
}

export interface SearchRequest extends SearchFilter {
  name: string
  type: string
  path?: string
  search: string
  /** Returns the path of the link to the next page; by default, only links within the host are followed. */
  follow?(link: string): string
}

const pageSize = 200
/** Search parameters that users cannot set, because they change the pages of the result. */
const reservedParameters = new Set(['_sort', '_format', '_total', '_summary'])

/**
 * Yields the resources of one type, oldest change first. If a server drops the search, as many do after some minutes, the
 * search restarts from the last resource that was read.
 */
export async function* searchResources(
  http: HttpSession,
  search: SearchRequest,
): AsyncGenerator<RecordPage, void, void> {
  const { name, type, path: place = type, follow = (link) => http.resolveLink(link) } = search
  const what = `The resources of type ${type}`
  const seen = { latest: '', at: -Infinity, inOrder: true }
  let { since } = search
  let [count, sorted] = [pageSize, true]
  let next: string | undefined
  const told = detectEndlessPaging(name)

  for (;;) {
    const first = next === undefined
    const asked: RequestOptions = first
      ? { subject: what, query: queryOf(search.search, { since, count, sorted }) }
      : { subject: what }
    let answer: unknown
    try {
      answer = await http.getJson(next ?? place, asked)
    } catch (error) {
      const { code } = error as Partial<SourceProblem>
      // Some servers refuse to sort; they then use an order of their own.
      if (first && sorted && code === 'REQUEST_REFUSED') sorted = false
      else if (first && count > 1 && code === 'ANSWER_TOO_LARGE') count = Math.ceil(count / 4)
      else if (!first && code === 'ANSWER_TOO_LARGE' && count > 1 && canBeginAnew()) count = Math.ceil(count / 4)
      else if (first || code !== 'NOT_FOUND' || !canBeginAnew() || seen.latest === since) throw forgotten(error, first)
      if (!first) [next, since] = [undefined, seen.latest]
      continue
    }
    const records = resourcesOf(answer, search)
    for (const record of records) note(record)
    told(records.length > 0)
    const link = nextIn(answer)
    const path = link === undefined ? undefined : follow(link)
    const over = path === undefined
    const asOf = { began: http.startedAt(), since: search.since, overlap: overlapSeconds }
    const cursor = over ? boundCursor(seen.latest, asOf) : undefined
    yield { records, ...(cursor !== undefined && { cursor }) }
    if (over) return
    if (path === next) throw createResponseProblem(name, 'a link to another page')
    next = path
  }

  function canBeginAnew(): boolean {
    return sorted && seen.inOrder && seen.latest !== ''
  }

  function note(record: unknown): void {
    const meta = (record as { meta?: { lastUpdated?: unknown } } | null)?.meta
    const moment = toText(meta?.lastUpdated)
    const at = moment === undefined ? NaN : Date.parse(moment)
    if (moment === undefined || Number.isNaN(at) || at < seen.at) seen.inOrder = false
    else [seen.latest, seen.at] = [moment, at]
  }
}

/**
 * Returns the resources of a Bundle without their type, which is the table name. Omits included resources. Throws
 * `SourceProblem` OTHER_PROTOCOL if the response is not a Bundle.
 */
export function resourcesOf(answer: unknown, { name, type }: Pick<SearchRequest, 'name' | 'type'>): unknown[] {
  const { resourceType, entry = [] } = parseObject(answer, name)
  if (resourceType !== 'Bundle' || !Array.isArray(entry)) throw createResponseProblem(name, 'a Bundle')
  return (entry as unknown[]).flatMap((one) => {
    const { resource, search } = parseObject(one, name) as { resource?: unknown; search?: { mode?: unknown } }
    const { resourceType: kind, ...rest } = parseObject(resource ?? {}, name)
    return kind === type && (search?.mode ?? 'match') === 'match' ? [rest] : []
  })
}

function nextIn(answer: unknown): string | undefined {
  const { link } = answer as { link?: unknown }
  const links = Array.isArray(link) ? (link as { relation?: unknown; url?: unknown }[]) : []
  return toText(links.find((one) => one?.relation === 'next')?.url)
}

/** Combines the user's parameters with those of the connector. If a parameter occurs twice, resources must match both. */
function queryOf(
  search: string,
  { since, count, sorted }: { since: string | undefined; count: number; sorted: boolean },
): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const [key, value] of new URLSearchParams(search))
    if (!reservedParameters.has(key)) (query[key] ??= []).push(value)
  if (since !== undefined) (query['_lastUpdated'] ??= []).push(`ge${since}`)
  if (sorted) query['_sort'] = ['_lastUpdated']
  query['_count'] = [String(Math.min(count, Number(query['_count']?.[0]) || count))]
  return query
}

function forgotten(error: unknown, first: boolean): unknown {
  if (first || (error as Partial<SourceProblem>).code !== 'NOT_FOUND') return error
  return new SourceProblem(
    'SOURCE_FAILED',
    'The FHIR server forgot the search before its last page was read, and does not sort by the time of changes, so it cannot be gone on with: narrow the search, or let the server keep searches for longer.',
    { cause: error },
  )
}
