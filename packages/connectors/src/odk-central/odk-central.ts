import type { connectorTypes } from '@sluice/contracts/connector-types'
import type { QueryParameters, HttpSession } from '../http-connector/http-session.ts'
import {
  compareNames,
  createLocation,
  createOption,
  parseText,
  parseObject,
  parseList,
  toArray,
  toText,
} from '../http-connector/parse-response.ts'
import { declareColumns, createQuestionColumn, type KnownColumn } from '../http-connector/declared-column.ts'
import type { SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import {
  type SystemContext,
  type RecordPage,
  type SettingsOf,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import { isExactNumber } from '../http-connector/exact-json.ts'
import { requestFittingPage, createNextCursor } from '../http-connector/paging.ts'

type OdkSettings = SettingsOf<typeof connectorTypes.odkCentral>

const odkCentralName = 'ODK Central'

/** Reads the submissions of one ODK Central form. Repeat groups become child tables. */
export const odkCentral: HttpSystem<OdkSettings> = {
  name: odkCentralName,
  canReadIncrement: () => true,
  createCursor: (moment) => moment,

  connect({ apiSource: { url, username } }, secrets) {
    const password = requireSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      ignoredSegments: ['v1'],
      // Signs in for a session, because ODK Central accepts basic authentication only over HTTPS.
      async signIn(http) {
        const body = { email: username, password }
        const session = await http.getJson('v1/sessions', { method: 'POST', body, isIdempotent: true })
        return { authorization: `Bearer ${parseText(session, odkCentralName, 'token')}` }
      },
      // Ends the session. Every run opens one, and each would otherwise last a day.
      signOut: (http, { authorization = '' }) =>
        http.getJson(`v1/sessions/${encodeURIComponent(authorization.replace('Bearer ', ''))}`, { method: 'DELETE' }),
    }
  },

  async testConnection({ http, settings: { project, form } }) {
    parseList(await http.getJson('v1/projects'), odkCentralName)
    if (project !== undefined && form !== undefined) await readFormColumns(http, project, form)
  },

  listOptions(kind, context) {
    if (kind === 'projects') return listProjects(context)
    return kind === 'forms' ? listForms(context) : undefined
  },

  async openStreams({ http, settings, log }) {
    const { project, form, includeDeleted = false } = settings
    return {
      name: form,
      key: ['__id'],
      columns: await readFormColumns(http, project, form),
      // The form declares which answers are text. Dates are texts in JSON, so their types are inferred from texts.
      inferStrings: true,
      async *readPages(cursor) {
        for await (const page of readSubmissions(http, { project, form, includeDeleted, log }, cursor))
          yield { ...page, records: page.records.map(parseSubmission) }
      },
    }
  },
}

async function listProjects({ http }: SystemContext): Promise<SourceOption[]> {
  const projects = parseList(await http.getJson('v1/projects'), odkCentralName).flatMap((item) => {
    const { id, name: title, archived } = parseObject(item, odkCentralName)
    return archived === true ? [] : createOption(id, { name: title })
  })
  return projects.toSorted(compareNames)
}

/** Lists the published forms of a project. */
async function listForms({ http, within, settings }: SystemContext<OdkSettings>): Promise<SourceOption[]> {
  const project = within ?? settings.project
  if (!project)
    throw new SourceProblem('PROJECT_MISSING', 'Select a project first, because each form belongs to a project.')
  const path = `v1/projects/${encodeURIComponent(project)}/forms`
  const response = await http.getJson(path, { subject: `The project ${project}` })
  const forms = parseList(response, odkCentralName).flatMap((item) => {
    const { xmlFormId, name, publishedAt } = parseObject(item, odkCentralName)
    const isPublished = publishedAt !== null
    return isPublished ? createOption(xmlFormId, { name }) : []
  })
  return forms.toSorted(compareNames)
}

/** Matches field types for which the column type is inferred from the values. Values of other field types are text. */
const typedFieldPattern = /^(int|decimal|boolean|date|time|dateTime|geopoint|geotrace|geoshape|structure|repeat)$/

/** Columns that the server adds to all submissions. */
const submissionColumns: KnownColumn[] = [
  { path: '__id', dataType: 'TEXT' },
  ...declareColumns('TIMESTAMPTZ', ['__system.submissionDate', '__system.updatedAt', '__system.deletedAt']),
  ...declareColumns('TEXT', ['__system.submitterId', '__system.submitterName', '__system.status']),
  ...declareColumns('TEXT', ['__system.reviewState', '__system.deviceId', '__system.formVersion']),
]

/**
 * Returns the columns of all submissions, and a column for each text field of any version of the form, with the field's
 * OData name.
 */
async function readFormColumns(http: HttpSession, project: string, form: string): Promise<KnownColumn[]> {
  const path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}/fields`
  const subject = `The form "${form}" of project ${project}`
  const fields = parseList(await http.getJson(path, { subject, query: { odata: true } }), odkCentralName)
  const columns = [...submissionColumns]
  const repeatGroups = new Set<string>()
  for (const field of fields) {
    const { path: fieldPath, type } = parseObject(field, odkCentralName)
    // The path of a field is like `/household/name`.
    const names = (toText(fieldPath) ?? '').split('/').slice(1)
    if (type === 'repeat') repeatGroups.add(names.join('/'))
    const isTextField = names.length > 0 && !typedFieldPattern.test(toText(type) ?? '')
    const isRepeatGroup = (groupNames: readonly string[]) => repeatGroups.has(groupNames.join('/'))
    if (isTextField) columns.push(createQuestionColumn(names, isRepeatGroup, '.'))
  }
  return columns
}

/**
 * Removes from a submission the links to data that it already contains. Converts a point to latitude, longitude,
 * altitude and accuracy.
 */
function parseSubmission(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parseSubmission)
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
  if ('type' in value && 'coordinates' in value) {
    const shape: GeoJsonShape = value
    return shape.type === 'Point' ? parseLocation(shape) : value
  }
  const answerEntries = Object.entries(value).filter(([key]) => !key.endsWith('@odata.navigationLink'))
  return Object.fromEntries(answerEntries.map(([key, item]) => [key, parseSubmission(item)]))
}

interface GeoJsonShape {
  type?: unknown
  coordinates?: unknown
  properties?: unknown
}

function parseLocation({ coordinates, properties }: GeoJsonShape): object {
  const [longitude, latitude, altitude] = toArray(coordinates)
  const { accuracy } = (properties ?? {}) as { accuracy?: unknown }
  return createLocation({ latitude, longitude, altitude, accuracy })
}

interface SubmissionQuery {
  project: string
  form: string
  includeDeleted: boolean
  log: SystemContext['log']
}

const maxSubmissionsPerPage = 1_000

/**
 * Yields the submissions, newest first, and then the deleted ones. A full read yields all submissions, and the deleted
 * ones if `includeDeleted` is set. An increment yields those that were created, edited or deleted since the cursor. The
 * last page has the cursor of the next increment.
 */
async function* readSubmissions(
  http: HttpSession,
  query: SubmissionQuery,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
  const since = toText(cursor)
  let latestTime = ''
  const pages = since === undefined ? readAll(http, query) : readChanges(http, query, since)
  for await (const records of pages) {
    latestTime = findLatestTime(records, latestTime)
    yield { records }
  }
  const nextCursor = createNextCursor(latestTime, http.startedAt(), since)
  if (nextCursor !== undefined) yield { records: [], cursor: nextCursor }
}

type SubmissionPages = AsyncGenerator<readonly unknown[], void, void>

async function* readAll(http: HttpSession, query: SubmissionQuery): SubmissionPages {
  yield* readSubmissionPages(http, query, undefined)
  if (query.includeDeleted) yield* readDeletedSubmissions(http, query, '__system/deletedAt ne null')
}

async function* readChanges(http: HttpSession, query: SubmissionQuery, since: string): SubmissionPages {
  const changedFilter = `__system/submissionDate ge ${since} or __system/updatedAt ge ${since}`
  yield* readSubmissionPages(http, query, changedFilter)
  yield* readDeletedSubmissions(http, query, `__system/deletedAt ge ${since}`)
}

/**
 * Returns the latest time of a submission, an edit or a deletion in the records, or the earlier time if it is later.
 */
function findLatestTime(records: readonly unknown[], earlierTime: string): string {
  let latestTime = earlierTime
  for (const record of records) {
    const { __system: system } = (record ?? {}) as { __system?: Record<string, unknown> }
    for (const time of [system?.['submissionDate'], system?.['updatedAt'], system?.['deletedAt']])
      if (typeof time === 'string' && time > latestTime) latestTime = time
  }
  return latestTime
}

/**
 * Yields the deleted submissions. If the server is older than 2023 and does not store deletion times, logs a warning
 * instead.
 */
async function* readDeletedSubmissions(http: HttpSession, query: SubmissionQuery, filter: string): SubmissionPages {
  try {
    yield* readSubmissionPages(http, query, filter)
  } catch (error) {
    if (!/\(501\)/.test((error as Error).message)) throw error
    query.log(
      'WARN',
      'LOW',
      'This version of ODK Central does not report deleted submissions. Run a full load to remove them.',
    )
  }
}

/** Yields the submissions that match an OData filter, page by page. */
async function* readSubmissionPages(
  http: HttpSession,
  { project, form }: SubmissionQuery,
  filter: string | undefined,
): SubmissionPages {
  const subject = `The form "${form}" of project ${project}`
  let path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}.svc/Submissions`
  let query: QueryParameters = { $expand: '*', $filter: filter }
  let limit = maxSubmissionsPerPage
  for (;;) {
    // If a page is too large, requests it again with fewer submissions.
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson(path, { subject, query: { ...query, $top: size } }),
    )
    limit = pageSize
    yield parseList(page, odkCentralName, 'value')
    const next = toText(parseObject(page, odkCentralName)['@odata.nextLink'])
    if (next === undefined) return
    const [nextPath, search] = http.resolveLink(next).split('?', 2)
    path = nextPath!
    query = Object.fromEntries(new URLSearchParams(search))
  }
}
