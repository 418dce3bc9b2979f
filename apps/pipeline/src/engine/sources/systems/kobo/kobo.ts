import type { Http } from '../http/connection.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import type { Choice } from '../../reading.ts'
import {
  type Asking,
  type Page,
  type SettingsOf,
  type Stream,
  type System,
  demandSecret,
  overlapSeconds,
} from '../system.ts'
import { pagesThatEnd } from '../http/fewer-at-once.ts'
import { nextCursor } from '../tables/moments.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_E'>

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

/** Points come as `latitude longitude altitude accuracy`, and moments without the zone that they are in. */
function shaped(record: unknown, points: ReadonlySet<string>): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, valueOf(key, value, points)]))
}

function valueOf(key: string, value: unknown, points: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    if (points.has(key)) return pointOf(value.trim().split(/\s+/).map(Number))
    return key === '_submission_time' && /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value) ? `${value}Z` : value
  }
  if (key === '_geolocation' && Array.isArray(value)) return pointOf(value)
  return Array.isArray(value) && !key.startsWith('_') ? value.map((one) => shaped(one, points)) : value
}

function pointOf([latitude, longitude, altitude, accuracy]: unknown[]): object {
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, value]) => Number.isFinite(value)),
  )
}

/** What is known of submissions before any is read. */
interface Form {
  columns: KnownColumn[]
  /** Paths of questions for a place on earth. */
  points: ReadonlySet<string>
}

/** Answers of these kinds of questions are what their values are; those of all others are texts, whatever they look like. */
const typed = /^(integer|decimal|range|date|datetime|time|start|end|today|begin_|end_|note|geopoint|start-geopoint)/i

/** As the server writes all submissions. */
const always: KnownColumn[] = [
  { path: '_id', dataType: 'BIGINT' },
  { path: '_uuid', dataType: 'TEXT' },
  { path: '_submission_time', dataType: 'TIMESTAMPTZ' },
  { path: '_submitted_by', dataType: 'TEXT' },
  { path: '_status', dataType: 'TEXT' },
  { path: '_xform_id_string', dataType: 'TEXT' },
  { path: '__version__', dataType: 'TEXT' },
  { path: 'meta/instanceID', dataType: 'TEXT' },
  { path: 'formhub/uuid', dataType: 'TEXT' },
]

/** The form as it is deployed now. Answers to questions that only earlier versions had come as what their values are. */
async function formOf(http: Http, survey: string): Promise<Form> {
  const what = `The survey "${survey}"`
  const asset = fieldsOf(
    await http.json(`api/v2/assets/${encodeURIComponent(survey)}/`, { what, query: { format: 'json' } }),
    'KoboToolbox',
  )
  const content = (asset['content'] ?? {}) as { survey?: unknown }
  const questions = Array.isArray(content.survey) ? (content.survey as Record<string, unknown>[]) : []
  const columns = [...always]
  const points = new Set<string>()
  const inside: { name: string; repeats: boolean }[] = []
  for (const question of questions) {
    const type = textOf(question?.['type']) ?? ''
    const name = textOf(question?.['name']) ?? textOf(question?.['$autoname']) ?? ''
    if (type.startsWith('begin_')) inside.push({ name, repeats: /repeat/.test(type) })
    else if (type.startsWith('end_')) inside.pop()
    else if (name !== '') {
      const path = [...inside.map((group) => group.name), name].join('/')
      if (type.endsWith('geopoint')) points.add(path)
      else if (!typed.test(type)) columns.push(columnOf(path, inside))
    }
  }
  return { columns, points }
}

/** In the table of the innermost group that repeats, by the path below it. */
function columnOf(path: string, inside: readonly { name: string; repeats: boolean }[]): KnownColumn {
  const groups: string[] = []
  let below: string[] = []
  let depth = 0
  for (const { name, repeats } of inside) {
    depth += 1
    below.push(name)
    if (!repeats) continue
    groups.push(below.join('/'))
    below = []
  }
  const own = path
    .split('/')
    .slice(depth - below.length)
    .join('/')
  return { path: own, dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}
