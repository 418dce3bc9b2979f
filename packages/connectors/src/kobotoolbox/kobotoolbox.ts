import type { connectorTypes } from '@sluice/contracts/connector-types'
import type { SourceOption } from '../connector.ts'
import type { HttpSession, RequestOptions } from '../http-connector/http-session.ts'
import {
  type HttpSystem,
  type RecordPage,
  requireSecret,
  type SettingsOf,
  type SystemContext,
} from '../http-connector/http-system.ts'
import { createNextCursor, createPagingCheck, requestFittingPage } from '../http-connector/paging.ts'
import {
  createLocation,
  createOption,
  createResponseProblem,
  parseGeopoint,
  parseList,
  parseObject,
  toArray,
  toText,
} from '../http-connector/parse-response.ts'
import { createQuestionColumn, type KnownColumn } from '../http-connector/declared-column.ts'

type KobotoolboxSettings = SettingsOf<typeof connectorTypes.kobotoolbox>

const koboName = 'KoboToolbox'
/** The maximum submissions per page. Current servers ignore a higher limit; older ones allow it. */
const maxSubmissionsPerPage = 1_000
const maxListedSurveys = 10_000

/** Reads the submissions of one KoboToolbox form. Repeat groups become child tables. */
export const kobotoolbox: HttpSystem<KobotoolboxSettings> = {
  name: koboName,
  canReadIncrement: () => true,
  // KoboToolbox compares timestamps without a time zone.
  createCursor: (moment) => moment.slice(0, 23),

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['v2', 'api'],
    headers: { authorization: `Token ${requireSecret(secrets, 'authToken', 'the API key of an account')}` },
  }),

  async testConnection({ http, settings: { survey } }) {
    const query = { format: 'json', limit: 1, q: 'asset_type:survey' }
    parseList(await http.getJson('api/v2/assets/', { query }), koboName, 'results')
    // A connection can be tested before a form is selected.
    if (survey !== undefined) await readForm(http, survey)
  },

  listOptions: (kind, context) => (kind === 'surveys' ? listSurveys(context) : undefined),

  async openStreams({ http, settings: { survey } }) {
    const form = await readForm(http, survey)
    return {
      name: survey,
      key: ['_id'],
      columns: form.columns,
      // The form declares which answers are text. The types of all other answers are inferred from texts.
      inferStrings: true,
      isStoredAsJson: (path) => path === '_attachments' || path === '_notes',
      async *readPages(cursor) {
        for await (const page of readSubmissions(http, survey, toText(cursor)))
          yield { ...page, records: page.records.map((record) => parseSubmission(record, form.geopoints)) }
      },
    }
  },
}

/** Lists deployed forms, sorted by name. Other forms have no submissions. */
async function listSurveys({ http }: SystemContext): Promise<SourceOption[]> {
  const surveys: SourceOption[] = []
  const query = { format: 'json', limit: 100, start: 0, q: 'asset_type:survey', ordering: 'name' }
  const assertPagingAdvances = createPagingCheck(koboName)
  let path = 'api/v2/assets/'
  let options: RequestOptions = { query }
  while (surveys.length < maxListedSurveys) {
    const response = parseObject(await http.getJson(path, options), koboName)
    const assets = parseList(response, koboName, 'results').map((asset) => parseObject(asset, koboName))
    // Forms that are not deployed also count as progress for the paging check, because an account can have thousands of
    // them.
    assertPagingAdvances(assets.length > 0)
    for (const { uid, name: title, has_deployment: isDeployed } of assets)
      if (isDeployed === true) surveys.push(...createOption(uid, { name: title }))
    const next = toText(response['next'])
    if (next === undefined) break
    // The link to the next page already contains the query.
    path = http.resolveLink(next)
    options = {}
  }
  return surveys
}

/**
 * Reads submissions in the order of `_id`. Each page starts after the last id of the previous page, so that changes
 * during the read do not shift pages. Increments miss edits, which do not change the submission time, and deletions;
 * the next full read finds both.
 */
async function* readSubmissions(
  http: HttpSession,
  survey: string,
  since: string | undefined,
): AsyncGenerator<RecordPage, void, void> {
  let lastId: number | undefined
  let latestTime = ''
  let limit = maxSubmissionsPerPage
  for (;;) {
    const filter = {
      ...(since !== undefined && { _submission_time: { $gte: since } }),
      ...(lastId !== undefined && { _id: { $gt: lastId } }),
    }
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson(`api/v2/assets/${encodeURIComponent(survey)}/data/`, {
        subject: `The survey "${survey}"`,
        query: { format: 'json', limit: size, sort: '{"_id":1}', query: JSON.stringify(filter) },
      }),
    )
    limit = pageSize
    const records = parseList(page, koboName, 'results')
    const isLast = records.length === 0 || toText(parseObject(page, koboName)['next']) === undefined
    const lastIdOfPreviousPage = lastId
    for (const record of records) {
      const { _id: id, _submission_time: time } = (record ?? {}) as Record<string, unknown>
      if (typeof id === 'number' && id > (lastId ?? -Infinity)) lastId = id
      if (typeof time === 'string' && time > latestTime) latestTime = time
    }
    // Only the last page has a cursor, because submission times need not be in the order of ids.
    yield { records, cursor: isLast ? createNextCursor(latestTime, http.startedAt(), since) : undefined }
    if (isLast) return
    // The next page would be the same page again.
    if (lastId === lastIdOfPreviousPage) throw createResponseProblem(koboName, 'increasing _id')
  }
}

/** Parses geopoints, and adds UTC to a submission time without a time zone, also in the rows of repeat groups. */
function parseSubmission(record: unknown, geopoints: ReadonlySet<string>): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  const fields = Object.entries(record).map(([key, value]) => [key, parseAnswer(key, value, geopoints)])
  return Object.fromEntries(fields)
}

/** Parses the value of a field, which is an answer, a field of the server, or the rows of a repeat group. */
function parseAnswer(key: string, value: unknown, geopoints: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    if (geopoints.has(key)) return parseGeopoint(value)
    const lacksZone = key === '_submission_time' && /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value)
    return lacksZone ? `${value}Z` : value
  }
  if (!Array.isArray(value)) return value
  if (key === '_geolocation') {
    const [latitude, longitude, altitude, accuracy] = value as unknown[]
    return createLocation({ latitude, longitude, altitude, accuracy })
  }
  // Fields of the server start with an underscore. Other lists are repeat groups.
  const isServerField = key.startsWith('_')
  return isServerField ? value : value.map((row) => parseSubmission(row, geopoints))
}

interface SurveyForm {
  columns: KnownColumn[]
  /** Paths of questions with a location as the answer. */
  geopoints: ReadonlySet<string>
}

/**
 * Matches question types for which the column type is inferred from the answers. Answers to other questions are text.
 */
const typedQuestionPattern =
  /^(integer|decimal|range|date|datetime|time|start|end|today|begin_|end_|note|geopoint|start-geopoint)/i

/** Columns that the server adds to all submissions. */
const submissionColumns: KnownColumn[] = [
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

/**
 * Reads the deployed version of the form. Questions that only earlier versions had are not declared, so the types of
 * their answers are inferred.
 */
async function readForm(http: HttpSession, survey: string): Promise<SurveyForm> {
  const response = await http.getJson(`api/v2/assets/${encodeURIComponent(survey)}/`, {
    subject: `The survey "${survey}"`,
    query: { format: 'json' },
  })
  const asset = parseObject(response, koboName)
  const content = (asset['content'] ?? {}) as { survey?: unknown }
  return parseForm(toArray(content.survey) as Record<string, unknown>[])
}

/** Parses the rows of a form definition: questions, and the begins and ends of groups. */
function parseForm(rows: readonly Record<string, unknown>[]): SurveyForm {
  const columns = [...submissionColumns]
  const geopoints = new Set<string>()
  const openGroups: { name: string; isRepeat: boolean }[] = []
  for (const row of rows) {
    const type = toText(row?.['type']) ?? ''
    const name = toText(row?.['name']) ?? toText(row?.['$autoname']) ?? ''
    if (type.startsWith('begin_')) openGroups.push({ name, isRepeat: type.includes('repeat') })
    else if (type.startsWith('end_')) openGroups.pop()
    else if (name !== '') {
      const path = [...openGroups.map((group) => group.name), name]
      // The group at a path of two names is the second open group.
      const isRepeatGroup = (groupPath: readonly string[]) => openGroups[groupPath.length - 1]?.isRepeat === true
      if (type.endsWith('geopoint')) geopoints.add(path.join('/'))
      else if (!typedQuestionPattern.test(type)) columns.push(createQuestionColumn(path, isRepeatGroup, '/'))
    }
  }
  return { columns, geopoints }
}
