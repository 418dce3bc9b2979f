import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Http, Query } from '../http/connection.ts'
import { overlapSeconds, type Page } from '../system.ts'
import { nextCursor } from '../tables/moments.ts'

const name = 'CommCare'
const pageSize = 500

/** In the order in which the server took them in, from link to link. Closed ones are among them; deleted ones come no more. */
export async function* cases(
  http: Http,
  { domain, type }: { domain: string; type: string },
  cursor: unknown,
): AsyncGenerator<Page, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  const what = `The project space "${domain}"`
  let latest = ''
  let path = `a/${domain}/api/case/v2/`
  let query: Query = { case_type: type, limit: pageSize, 'indexed_on.gte': since }
  for (;;) {
    const answer = await http.json(path, { what, query })
    const records = listIn(answer, name, 'cases')
    for (const record of records) {
      const moment = textOf((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''
      if (moment > latest) latest = moment
    }
    const next = textOf(fieldsOf(answer, name)['next'])
    const asOf = { began: http.began(), since, overlap: overlapSeconds }
    const from = next === undefined ? nextCursor(latest, asOf) : undefined
    yield { records, ...(from !== undefined && { cursor: from }) }
    if (next === undefined) return
    // The link holds all that was asked for.
    path = http.follow(next)
    query = {}
  }
}
