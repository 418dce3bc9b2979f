import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import type { Choice } from '../../reading.ts'
import {
  type Asking,
  demandSecret,
  overlapSeconds,
  type Page,
  type SettingsOf,
  type Stream,
  type System,
} from '../system.ts'
import { pagesThatEnd } from '../pages-that-end.ts'
import { nextCursor } from '../tables/moments.ts'
import { formOf } from './form.ts'
import { shaped } from './submission.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_E'>
type Http = Asking['http']

const name = 'KoboToolbox'
/** What servers give at once at most; older ones gave more, newer ones silently less. */
const pageSize = 1_000
const mostSurveys = 10_000

/** KoboToolbox: the submissions of one form, and its groups that repeat as tables below. */
export const kobo: System<Settings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment.slice(0, 23),

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    without: ['v2', 'api'],
    headers: { authorization: `Token ${demandSecret(secrets, 'authToken', 'the API key of an account')}` },
  }),

  async test({ http, settings: { survey } }) {
    listIn(
      await http.json('api/v2/assets/', { query: { format: 'json', limit: 1, q: 'asset_type:survey' } }),
      name,
      'results',
    )
    if (survey !== undefined) await formOf(http, survey)
  },

  lookup: (kind, asking) => (kind === 'surveys' ? surveys(asking) : undefined),

  async streams({ http, settings: { survey } }) {
    const form = await formOf(http, survey)
    const stream: Stream = {
      name: survey,
      key: ['_id'],
      columns: form.columns,
      // The form says which answers are texts; all others are what their values are.
      textsMayBeAnything: true,
      whole: (path) => path === '_attachments' || path === '_notes',
      async *pages(cursor) {
        for await (const page of submissions(http, survey, cursor))
          yield { ...page, records: page.records.map((record) => shaped(record, form.points)) }
      },
    }
    return stream
  },
}

/** Forms that have been deployed, by name: others have no submissions. */
async function surveys({ http }: Asking): Promise<Choice[]> {
  const found: Choice[] = []
  const query = { format: 'json', limit: 100, start: 0, q: 'asset_type:survey', ordering: 'name' }
  let path = 'api/v2/assets/'
  let asked: Parameters<Http['json']>[1] = { query }
  const told = pagesThatEnd(name)
  while (found.length < mostSurveys) {
    const answer = fieldsOf(await http.json(path, asked), name)
    const results = listIn(answer, name, 'results')
    // Those that are not deployed are left out, and count: an account may have thousands.
    told(results.length > 0)
    for (const one of results) {
      const { uid, name: title, has_deployment: deployed } = fieldsOf(one, name)
      const id = textOf(uid)
      if (id !== undefined && deployed === true) found.push({ id, code: id, name: textOf(title) ?? id })
    }
    const next = textOf(answer['next'])
    if (next === undefined) break
    path = http.follow(next)
    asked = {}
  }
  return found
}

/**
 * By `_id`, each page from the last one of the page before: what is submitted or deleted meanwhile shifts nothing. An edit leaves the
 * moment of submission as it is, and a deletion leaves nothing behind: both come with the next full reading.
 */
async function* submissions(http: Http, survey: string, cursor: unknown): AsyncGenerator<Page, void, void> {
  const since = typeof cursor === 'string' ? { _submission_time: { $gte: cursor } } : {}
  let last: number | undefined
  let latest = ''
  let limit = pageSize
  for (;;) {
    const query = { ...since, ...(last !== undefined && { _id: { $gt: last } }) }
    const answer = await pageOf(http, survey, query, limit)
    if (answer === 'TOO_LARGE') {
      limit = Math.ceil(limit / 4)
      continue
    }
    const from = last
    for (const record of answer.records) {
      const { _id: id, _submission_time: time } = (record ?? {}) as Record<string, unknown>
      if (typeof id === 'number' && id > (last ?? -Infinity)) last = id
      if (typeof time === 'string' && time > latest) latest = time
    }
    // Only all of them together are complete: moments need not be in the order of ids.
    const asOf = { began: http.began(), since: textOf(cursor), overlap: overlapSeconds }
    const next = answer.over ? nextCursor(latest, asOf) : undefined
    yield { records: answer.records, ...(next !== undefined && { cursor: next }) }
    if (answer.over) return
    if (last === from) throw strange(name, 'an _id that grows')
  }
}

/** Submissions of long forms may be large: where a page is too much at once, fewer are asked for. */
async function pageOf(
  http: Http,
  survey: string,
  query: object,
  limit: number,
): Promise<{ records: readonly unknown[]; over: boolean } | 'TOO_LARGE'> {
  try {
    const answer = await http.json(`api/v2/assets/${encodeURIComponent(survey)}/data/`, {
      what: `The survey "${survey}"`,
      query: { format: 'json', limit, sort: '{"_id":1}', query: JSON.stringify(query) },
    })
    const records = listIn(answer, name, 'results')
    return { records, over: records.length === 0 || textOf(fieldsOf(answer, name)['next']) === undefined }
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ANSWER_TOO_LARGE' && limit > 1) return 'TOO_LARGE'
    throw error
  }
}
