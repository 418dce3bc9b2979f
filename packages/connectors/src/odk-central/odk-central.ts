import type { QueryParameters, HttpSession } from '../http-connector/http-session.ts'
import {
  compareNames,
  createLocation,
  createOption,
  parseText,
  parseObject,
  parseList,
  toText,
} from '../http-connector/parse-response.ts'
import { declareColumns, createQuestionColumn, type KnownColumn } from '../http-connector/record-tables.ts'
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

type OdkSettings = SettingsOf<'SOURCE_SYSTEM_G'>

const name = 'ODK Central'

/** ODK Central: the submissions of one form, with its repeat groups as child tables. */
export const odkCentral: HttpSystem<OdkSettings> = {
  name,
  canReadIncrement: () => true,
  createCursor: (moment) => moment,

  connect({ apiSource: { url, username } }, secrets) {
    const password = requireSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      ignoredSegments: ['v1'],
      // Central accepts basic authentication over HTTPS only, so a session is used.
      async signIn(http) {
        const body = { email: username, password }
        const session = await http.getJson('v1/sessions', { method: 'POST', body, isIdempotent: true })
        return { authorization: `Bearer ${parseText(session, name, 'token')}` }
      },
      // Otherwise the session lasts a day, and every run adds one.
      signOut: (http, { authorization = '' }) =>
        http.getJson(`v1/sessions/${encodeURIComponent(authorization.replace('Bearer ', ''))}`, { method: 'DELETE' }),
    }
  },

  async testConnection({ http, settings: { project, form } }) {
    parseList(await http.getJson('v1/projects'), name)
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
      // The form declares text answers. Dates are JSON texts whose types are inferred.
      inferStrings: true,
      async *readPages(cursor) {
        for await (const page of readSubmissions(http, { project, form, includeDeleted, log }, cursor))
          yield { ...page, records: page.records.map(parseSubmission) }
      },
    }
  },
}

async function listProjects({ http }: SystemContext): Promise<SourceOption[]> {
  const projects = parseList(await http.getJson('v1/projects'), name).flatMap((item) => {
    const { id, name: title, archived } = parseObject(item, name)
    return archived === true ? [] : createOption(id, { name: title })
  })
  return projects.toSorted(compareNames)
}

/** Lists the published forms of one project. */
async function listForms({ http, within, settings }: SystemContext<OdkSettings>): Promise<SourceOption[]> {
  const project = within ?? settings.project
  if (!project) throw new SourceProblem('PROJECT_MISSING', 'Forms are listed for one project. Select a project first.')
  const path = `v1/projects/${encodeURIComponent(project)}/forms`
  const forms = parseList(await http.getJson(path, { subject: `The project ${project}` }), name).flatMap((item) => {
    const { xmlFormId, name: title, publishedAt } = parseObject(item, name)
    return publishedAt === null ? [] : createOption(xmlFormId, { name: title })
  })
  return forms.toSorted(compareNames)
}

/** Field types whose values have inferred types. All other values are text. */
const typedFieldPattern = /^(int|decimal|boolean|date|time|dateTime|geopoint|geotrace|geoshape|structure|repeat)$/

/** Columns that the server adds to all submissions. */
const systemColumns: KnownColumn[] = [
  { path: '__id', dataType: 'TEXT' },
  ...declareColumns('TIMESTAMPTZ', ['__system.submissionDate', '__system.updatedAt', '__system.deletedAt']),
  ...declareColumns('TEXT', ['__system.submitterId', '__system.submitterName', '__system.status']),
  ...declareColumns('TEXT', ['__system.reviewState', '__system.deviceId', '__system.formVersion']),
]

/** Reads the fields of all versions of the form, with their OData names. */
async function readFormColumns(http: HttpSession, project: string, form: string): Promise<KnownColumn[]> {
  const path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}/fields`
  const subject = `The form "${form}" of project ${project}`
  const fields = parseList(await http.getJson(path, { subject, query: { odata: true } }), name)
  const columns = [...systemColumns]
  const repeatGroups = new Set<string>()
  for (const field of fields) {
    const { path: fieldPath, type } = parseObject(field, name)
    // `/household/name`
    const names = (toText(fieldPath) ?? '').split('/').slice(1)
    if (type === 'repeat') repeatGroups.add(names.join('/'))
    if (names.length > 0 && !typedFieldPattern.test(toText(type) ?? ''))
      columns.push(createQuestionColumn(names, (groups) => repeatGroups.has(groups.join('/')), '.'))
  }
  return columns
}

/** Returns a submission without links to data that it contains anyway. Points become four numbers, including the accuracy. */
function parseSubmission(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parseSubmission)
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
  const shape = value as GeoJsonShape
  if ('type' in value && 'coordinates' in value) return shape.type === 'Point' ? parseLocation(shape) : value
  const own = Object.entries(value).filter(([key]) => !key.endsWith('@odata.navigationLink'))
  return Object.fromEntries(own.map(([key, item]) => [key, parseSubmission(item)]))
}

interface GeoJsonShape {
  type?: unknown
  coordinates?: unknown
  properties?: unknown
}

function parseLocation({ coordinates, properties }: GeoJsonShape): object {
  const [longitude, latitude, altitude] = Array.isArray(coordinates) ? (coordinates as unknown[]) : []
  const { accuracy } = (properties ?? {}) as { accuracy?: unknown }
  return createLocation({ latitude, longitude, altitude, accuracy })
}

interface SubmissionQuery {
  project: string
  form: string
  includeDeleted: boolean
  log: SystemContext['log']
}

const maxPageSize = 1_000

/**
 * Reads submissions, newest first. Each page continues after the end of the previous one, so that changes during the read do
 * not shift the pages. An increment reads submissions that were submitted or edited since the cursor, then those that were
 * deleted since, marked as deleted.
 */
async function* readSubmissions(
  http: HttpSession,
  query: SubmissionQuery,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
  const since = toText(cursor)
  let latest = ''
  const updateLatest = (records: readonly unknown[]) => {
    for (const record of records) {
      const { __system: system } = (record ?? {}) as { __system?: Record<string, unknown> }
      for (const time of [system?.['submissionDate'], system?.['updatedAt'], system?.['deletedAt']])
        if (typeof time === 'string' && time > latest) latest = time
    }
  }
  const changed = since && `__system/submissionDate ge ${since} or __system/updatedAt ge ${since}`
  for await (const records of readPages(http, query, changed)) {
    updateLatest(records)
    yield { records }
  }
  if (since !== undefined || query.includeDeleted) {
    const deleted = since === undefined ? '__system/deletedAt ne null' : `__system/deletedAt ge ${since}`
    for await (const records of readDeletedSubmissions(http, query, deleted)) {
      updateLatest(records)
      yield { records }
    }
  }
  const next = createNextCursor(latest, http.startedAt(), since)
  if (next !== undefined) yield { records: [], cursor: next }
}

/** Servers before 2023 do not store deletion times. */
async function* readDeletedSubmissions(
  http: HttpSession,
  query: SubmissionQuery,
  filter: string,
): AsyncGenerator<readonly unknown[]> {
  try {
    yield* readPages(http, query, filter)
  } catch (error) {
    if (!/\(501\)/.test((error as Error).message)) throw error
    query.log('WARN', 'LOW', 'This version of ODK Central does not report deletions. Full runs find them.')
  }
}

async function* readPages(
  http: HttpSession,
  { project, form }: SubmissionQuery,
  filter: string | undefined,
): AsyncGenerator<readonly unknown[], void, void> {
  const subject = `The form "${form}" of project ${project}`
  let path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}.svc/Submissions`
  let query: QueryParameters = { $expand: '*', $filter: filter }
  let limit = maxPageSize
  for (;;) {
    // Submissions with long lists can be large.
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson(path, { subject, query: { ...query, $top: size } }),
    )
    limit = pageSize
    yield parseList(page, name, 'value')
    const next = toText(parseObject(page, name)['@odata.nextLink'])
    if (next === undefined) return
    const [nextPath, search] = http.resolveLink(next).split('?', 2)
    path = nextPath!
    query = Object.fromEntries(new URLSearchParams(search))
  }
}
