import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import { fewerAtOnce } from '../http/fewer-at-once.ts'
import { type Asking, overlapSeconds, type Page } from '../system.ts'
import { nextCursor } from '../tables/moments.ts'

export interface Question {
  project: string
  form: string
  includeDeleted: boolean
  log: Asking['log']
}

const name = 'ODK Central'
const pageSize = 1_000

/**
 * Newest first, each page from where the one before ended, so that nothing moves while it is read. From a cursor on: what was submitted
 * or edited since, then what was deleted since, which comes marked as such.
 */
export async function* submissions(http: Http, question: Question, cursor: unknown): AsyncGenerator<Page, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  let latest = ''
  const seen = (records: readonly unknown[]) => {
    for (const record of records) {
      const { __system: system } = (record ?? {}) as { __system?: Record<string, unknown> }
      for (const moment of [system?.['submissionDate'], system?.['updatedAt'], system?.['deletedAt']])
        if (typeof moment === 'string' && moment > latest) latest = moment
    }
  }
  const changed = since && `__system/submissionDate ge ${since} or __system/updatedAt ge ${since}`
  for await (const records of pagesOf(http, question, changed)) {
    seen(records)
    yield { records }
  }
  if (since !== undefined || question.includeDeleted) {
    const gone = since === undefined ? '__system/deletedAt ne null' : `__system/deletedAt ge ${since}`
    for await (const records of deletedOnes(http, question, gone)) {
      seen(records)
      yield { records }
    }
  }
  const next = nextCursor(latest, { began: http.began(), since, overlap: overlapSeconds })
  if (next !== undefined) yield { records: [], cursor: next }
}

/** Servers before 2023 do not know when something was deleted. */
async function* deletedOnes(http: Http, question: Question, filter: string): AsyncGenerator<readonly unknown[]> {
  try {
    yield* pagesOf(http, question, filter)
  } catch (error) {
    if (!/\(501\)/.test((error as Error).message)) throw error
    question.log('WARN', 'LOW', 'This version of ODK Central does not tell what was deleted: full readings find it.')
  }
}

async function* pagesOf(
  http: Http,
  { project, form }: Question,
  filter: string | undefined,
): AsyncGenerator<readonly unknown[], void, void> {
  const what = `The form "${form}" of project ${project}`
  const table = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}.svc/Submissions`
  let path = table
  let query = new URLSearchParams({ $expand: '*', ...(filter !== undefined && { $filter: filter }) })
  let most = pageSize
  for (;;) {
    const [at, wanted] = [path, Object.fromEntries(query)]
    // Submissions with long lists may be large.
    const { answer, limit } = await fewerAtOnce(most, (top) => http.json(at, { what, query: { ...wanted, $top: top } }))
    most = limit
    yield listIn(answer, name, 'value')
    const next = textOf(fieldsOf(answer, name)['@odata.nextLink'])
    if (next === undefined) return
    const link = http.follow(next)
    const mark = link.indexOf('?')
    path = mark < 0 ? link : link.slice(0, mark)
    query = new URLSearchParams(mark < 0 ? '' : link.slice(mark))
  }
}
