import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import { fewerAtOnce } from '../http/fewer-at-once.ts'
import { overlapSeconds, type Page } from '../system.ts'
import { nextCursor } from '../tables/moments.ts'

export interface FormQuestion {
  domain: string
  xmlns: string
  includeArchived: boolean
}

const name = 'CommCare'
/** What the server gives at once at most. */
const pageSize = 1_000

/**
 * In the order in which the server took them in, each page from the moment at which the one before ended: a list that is paged by numbers
 * moves while it is read. Later readings ask for archived forms in any case: a form that is archived comes, and is marked as such.
 */
export async function* forms(
  http: Http,
  { domain, xmlns, includeArchived }: FormQuestion,
  cursor: unknown,
): AsyncGenerator<Page, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  let start = since
  let offset = 0
  let most = pageSize
  let latest = ''
  /** What was given of the moment at which the next page starts. */
  let given = new Set<string>()
  for (;;) {
    const { answer, limit } = await fewerAtOnce(most, (some) =>
      http.json(`a/${domain}/api/form/v1/`, {
        what: `The project space "${domain}"`,
        query: {
          xmlns,
          limit: some,
          offset: offset === 0 ? undefined : offset,
          order_by: 'indexed_on',
          indexed_on_start: start,
          include_archived: includeArchived || since !== undefined ? true : undefined,
        },
      }),
    )
    most = limit
    const records = listIn(answer, name, 'objects')
    const over = textOf(fieldsOf(fieldsOf(answer, name)['meta'], name)['next']) === undefined || records.length === 0
    const fresh = records.filter((record) => !given.has(markOf(record)))
    const last = momentOf(records.at(-1))
    if (last > latest) latest = last
    const next = over ? nextCursor(latest, { began: http.began(), since, overlap: overlapSeconds }) : undefined
    yield { records: fresh, ...(next !== undefined && { cursor: next }) }
    if (over) return
    if (last === '' || last === start) {
      // More of one moment than fit on a page.
      offset += records.length
      for (const record of records) given.add(markOf(record))
    } else {
      start = last
      offset = 0
      given = new Set(records.filter((record) => momentOf(record) === last).map(markOf))
    }
  }
}

const momentOf = (record: unknown): string => textOf((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''

const markOf = (record: unknown): string => `${textOf((record as { id?: unknown } | null)?.id)} ${momentOf(record)}`
