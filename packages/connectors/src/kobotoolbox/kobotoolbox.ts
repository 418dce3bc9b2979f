import type { HttpSession } from '../http-connector/http-session.ts'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { SourceChoice } from '../connector.ts'
import { type SystemContext, type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret, overlapSeconds } from '../http-connector/http-system.ts'
import { detectEndlessPaging, boundCursor } from '../http-connector/paging.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'

type KoboSettings = SettingsOf<'SOURCE_SYSTEM_E'>

const name = 'KoboToolbox'
/** Current servers silently return at most this many submissions; older ones allowed more. */
const pageSize = 1_000
const maxListedSurveys = 10_000

/** KoboToolbox: the submissions of one form, with its repeat groups as child tables. */
export const kobo: HttpSystem<KoboSettings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment.slice(0, 23),

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['v2', 'api'],
    headers: { authorization: `Token ${requireSecret(secrets, 'authToken', 'the API key of an account')}` },
  }),

  async test({ http, settings: { survey } }) {
    parseList(
      await http.getJson('api/v2/assets/', { query: { format: 'json', limit: 1, q: 'asset_type:survey' } }),
      name,
      'results',
    )
    if (survey !== undefined) await readForm(http, survey)
  },

  lookup: (kind, asking) => (kind === 'surveys' ? listSurveys(asking) : undefined),

  async streams({ http, settings: { survey } }) {
    const form = await readForm(http, survey)
    const stream: RecordStream = {
      name: survey,
      key: ['_id'],
      columns: form.columns,
      // The form declares text answers; the types of all others are inferred.
      inferStrings: true,
      isStoredAsJson: (path) => path === '_attachments' || path === '_notes',
      async *pages(cursor) {
        for await (const page of readSubmissions(http, survey, cursor))
          yield { ...page, records: page.records.map((record) => parseSubmission(record, form.points)) }
      },
    }
    return stream
  },
}

/** Lists deployed forms by name. Other forms have no submissions. */
async function listSurveys({ http }: SystemContext): Promise<SourceChoice[]> {
  const found: SourceChoice[] = []
  const query = { format: 'json', limit: 100, start: 0, q: 'asset_type:survey', ordering: 'name' }
  let path = 'api/v2/assets/'
  let asked: Parameters<HttpSession['getJson']>[1] = { query }
  const told = detectEndlessPaging(name)
  while (found.length < maxListedSurveys) {
    const answer = parseObject(await http.getJson(path, asked), name)
    const results = parseList(answer, name, 'results')
    // Forms that are not deployed are omitted but count as progress, because an account can have thousands of them.
    told(results.length > 0)
    for (const one of results) {
      const { uid, name: title, has_deployment: deployed } = parseObject(one, name)
      const id = toText(uid)
      if (id !== undefined && deployed === true) found.push({ id, code: id, name: toText(title) ?? id })
    }
    const next = toText(answer['next'])
    if (next === undefined) break
    path = http.resolveLink(next)
    asked = {}
  }
  return found
}

/**
 * Reads submissions ordered by `_id`. Each page starts after the last id of the previous page, so that submissions and deletions during
 * the read do not shift the pages. Edits keep the submission time, and deletions leave no trace: only the next full read notices both.
 */
async function* readSubmissions(
  http: HttpSession,
  survey: string,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
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
    // Only all pages together are complete, because the submission times are not always in the order of the ids.
    const asOf = { began: http.startedAt(), since: toText(cursor), overlap: overlapSeconds }
    const next = answer.over ? boundCursor(latest, asOf) : undefined
    yield { records: answer.records, ...(next !== undefined && { cursor: next }) }
    if (answer.over) return
    if (last === from) throw createResponseProblem(name, 'an _id that grows')
  }
}

async function pageOf(
  http: HttpSession,
  survey: string,
  query: object,
  limit: number,
): Promise<{ records: readonly unknown[]; over: boolean } | 'TOO_LARGE'> {
  try {
    const answer = await http.getJson(`api/v2/assets/${encodeURIComponent(survey)}/data/`, {
      subject: `The survey "${survey}"`,
      query: { format: 'json', limit, sort: '{"_id":1}', query: JSON.stringify(query) },
    })
    const records = parseList(answer, name, 'results')
    return { records, over: records.length === 0 || toText(parseObject(answer, name)['next']) === undefined }
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ANSWER_TOO_LARGE' && limit > 1) return 'TOO_LARGE'
    throw error
  }
}

/** Parses geopoints, which are `latitude longitude altitude accuracy`, and adds the zone to timestamps, which lack it. */
function parseSubmission(record: unknown, points: ReadonlySet<string>): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, parseAnswer(key, value, points)]))
}

function parseAnswer(key: string, value: unknown, points: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    if (points.has(key)) return parseLocation(value.trim().split(/\s+/).map(Number))
    return key === '_submission_time' && /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value) ? `${value}Z` : value
  }
  if (key === '_geolocation' && Array.isArray(value)) return parseLocation(value)
  return Array.isArray(value) && !key.startsWith('_') ? value.map((one) => parseSubmission(one, points)) : value
}

function parseLocation([latitude, longitude, altitude, accuracy]: unknown[]): object {
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, value]) => Number.isFinite(value)),
  )
}

interface SurveyForm {
  columns: KnownColumn[]
  /** Paths of geopoint questions. */
  points: ReadonlySet<string>
}

/** Question types whose answers have inferred types. Answers to all other questions are text. */
const typedQuestionPattern =
  /^(integer|decimal|range|date|datetime|time|start|end|today|begin_|end_|note|geopoint|start-geopoint)/i

/** Columns that the server adds to all submissions. */
const systemColumns: KnownColumn[] = [
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

/** Reads the deployed version of the form. The types of answers to questions that only earlier versions had are inferred. */
async function readForm(http: HttpSession, survey: string): Promise<SurveyForm> {
  const what = `The survey "${survey}"`
  const asset = parseObject(
    await http.getJson(`api/v2/assets/${encodeURIComponent(survey)}/`, { subject: what, query: { format: 'json' } }),
    'KoboToolbox',
  )
  const content = (asset['content'] ?? {}) as { survey?: unknown }
  const questions = Array.isArray(content.survey) ? (content.survey as Record<string, unknown>[]) : []
  const columns = [...systemColumns]
  const points = new Set<string>()
  const inside: { name: string; repeats: boolean }[] = []
  for (const question of questions) {
    const type = toText(question?.['type']) ?? ''
    const name = toText(question?.['name']) ?? toText(question?.['$autoname']) ?? ''
    if (type.startsWith('begin_')) inside.push({ name, repeats: /repeat/.test(type) })
    else if (type.startsWith('end_')) inside.pop()
    else if (name !== '') {
      const path = [...inside.map((group) => group.name), name].join('/')
      if (type.endsWith('geopoint')) points.add(path)
      else if (!typedQuestionPattern.test(type)) columns.push(createTextColumn(path, inside))
    }
  }
  return { columns, points }
}

/** Returns the text column in the table of the innermost repeat group, by its path below that group. */
function createTextColumn(path: string, inside: readonly { name: string; repeats: boolean }[]): KnownColumn {
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
