import type { SourceChoice } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { type SystemContext, type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret, overlapSeconds } from '../http-connector/http-system.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'
import { isExact } from '../http-connector/exact-json.ts'
import { requestFittingPage, boundCursor } from '../http-connector/paging.ts'

type OdkSettings = SettingsOf<'SOURCE_SYSTEM_G'>

const name = 'ODK Central'

/** ODK Central: the submissions of one form, with its repeat groups as child tables. */
export const odk: HttpSystem<OdkSettings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect({ apiSource: { url, username } }, secrets) {
    const password = requireSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      ignoredSegments: ['v1'],
      // Central accepts basic authentication over HTTPS only, so a session is used.
      async signIn(http) {
        const body = { email: username, password }
        const session = await http.getJson('v1/sessions', { method: 'POST', body, repeatable: true })
        const token = toText(parseObject(session, name)['token'])
        if (token === undefined) throw createResponseProblem(name, 'a token')
        return { authorization: `Bearer ${token}` }
      },
      // Otherwise the session lasts a day, and every run adds one.
      signOut: (http, { authorization = '' }) =>
        http.getJson(`v1/sessions/${encodeURIComponent(authorization.replace('Bearer ', ''))}`, { method: 'DELETE' }),
    }
  },

  async test({ http, settings: { project, form } }) {
    parseList(await http.getJson('v1/projects'), name)
    if (project !== undefined && form !== undefined) await readFormColumns(http, project, form)
  },

  lookup(kind, asking) {
    if (kind === 'projects') return listProjects(asking)
    return kind === 'forms' ? listForms(asking) : undefined
  },

  async streams({ http, settings, log }) {
    const { project, form, includeDeleted = false } = settings
    const stream: RecordStream = {
      name: form,
      key: ['__id'],
      columns: await readFormColumns(http, project, form),
      // The form declares text answers. Dates are JSON texts whose types are inferred.
      inferStrings: true,
      async *pages(cursor) {
        for await (const page of readSubmissions(http, { project, form, includeDeleted, log }, cursor))
          yield { ...page, records: page.records.map(parseSubmission) }
      },
    }
    return stream
  },
}

async function listProjects({ http }: SystemContext): Promise<SourceChoice[]> {
  const found = parseList(await http.getJson('v1/projects'), name).flatMap((one) => {
    const { id, name: title, archived } = parseObject(one, name)
    const known = toText(id)
    return known === undefined || archived === true ? [] : [{ id: known, code: known, name: toText(title) ?? known }]
  })
  return found.toSorted(byName)
}

/** Lists the published forms of one project. */
async function listForms({ http, within, settings }: SystemContext<OdkSettings>): Promise<SourceChoice[]> {
  const project = within ?? settings.project
  if (!project)
    throw new SourceProblem('PROJECT_MISSING', 'Forms are looked up in a project: choose one first, or say its number.')
  const asked = await http.getJson(`v1/projects/${encodeURIComponent(project)}/forms`, {
    subject: `The project ${project}`,
  })
  const found = parseList(asked, name).flatMap((one) => {
    const { xmlFormId, name: title, publishedAt } = parseObject(one, name)
    const id = toText(xmlFormId)
    return id === undefined || publishedAt === null ? [] : [{ id, code: id, name: toText(title) ?? id }]
  })
  return found.toSorted(byName)
}

const byName = (one: SourceChoice, other: SourceChoice): number => one.name.localeCompare(other.name, 'en')

/** Field types whose values have inferred types. All other values are text. */
const typedFieldPattern = /^(int|decimal|boolean|date|time|dateTime|geopoint|geotrace|geoshape|structure|repeat)$/

/** Columns that the server adds to all submissions. */
const systemColumns: KnownColumn[] = [
  { path: '__id', dataType: 'TEXT' },
  { path: '__system.submissionDate', dataType: 'TIMESTAMPTZ' },
  { path: '__system.updatedAt', dataType: 'TIMESTAMPTZ' },
  { path: '__system.deletedAt', dataType: 'TIMESTAMPTZ' },
  ...['submitterId', 'submitterName', 'status', 'reviewState', 'deviceId', 'formVersion'].map((own) => ({
    path: `__system.${own}`,
    dataType: 'TEXT' as const,
  })),
]

/** Reads the fields of all versions of the form, with their OData names. */
async function readFormColumns(http: HttpSession, project: string, form: string): Promise<KnownColumn[]> {
  const what = `The form "${form}" of project ${project}`
  const path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}/fields`
  const fields = parseList(await http.getJson(path, { subject: what, query: { odata: true } }), 'ODK Central')
  const columns = [...systemColumns]
  const repeats: string[] = []
  for (const field of fields) {
    const { path: given, type } = parseObject(field, 'ODK Central')
    const place = toText(given) ?? ''
    if (type === 'repeat') repeats.push(place)
    if (place !== '' && !typedFieldPattern.test(toText(type) ?? '')) columns.push(columnOf(place, repeats))
  }
  return columns
}

/** Returns the column in the table of the innermost repeat group, by its path below that group. */
function columnOf(place: string, repeats: readonly string[]): KnownColumn {
  const groups: string[] = []
  let at = ''
  // Outer groups come before inner groups.
  for (const repeat of repeats) {
    if (!repeat.startsWith(`${at}/`) || !place.startsWith(`${repeat}/`)) continue
    groups.push(pointed(repeat.slice(at.length + 1)))
    at = repeat
  }
  return { path: pointed(place.slice(at.length + 1)), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}

const pointed = (path: string): string => path.replaceAll('/', '.')

/** Returns a submission without links to data that it contains anyway. Points become four numbers, including the accuracy. */
function parseSubmission(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parseSubmission)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  const shape = value as GeoJsonShape
  if ('type' in value && 'coordinates' in value) return shape.type === 'Point' ? parseLocation(shape) : value
  const own = Object.entries(value).filter(([key]) => !key.endsWith('@odata.navigationLink'))
  return Object.fromEntries(own.map(([key, one]) => [key, parseSubmission(one)]))
}

/** GeoJSON. */
interface GeoJsonShape {
  type?: unknown
  coordinates?: unknown
  properties?: unknown
}

function parseLocation({ coordinates, properties }: GeoJsonShape): object {
  const [longitude, latitude, altitude] = Array.isArray(coordinates) ? (coordinates as unknown[]) : []
  const { accuracy } = (properties ?? {}) as { accuracy?: unknown }
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, one]) => Number.isFinite(one)),
  )
}

interface SubmissionQuery {
  project: string
  form: string
  includeDeleted: boolean
  log: SystemContext['log']
}

const pageSize = 1_000

/**
 * Reads submissions, newest first. Each page continues after the end of the previous one, so that changes during the read do
 * not shift the pages. An increment reads submissions that were submitted or edited since the cursor, then those that were
 * deleted since, marked as deleted.
 */
async function* readSubmissions(
  http: HttpSession,
  question: SubmissionQuery,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
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
  for await (const records of readPages(http, question, changed)) {
    seen(records)
    yield { records }
  }
  if (since !== undefined || question.includeDeleted) {
    const gone = since === undefined ? '__system/deletedAt ne null' : `__system/deletedAt ge ${since}`
    for await (const records of readDeletedSubmissions(http, question, gone)) {
      seen(records)
      yield { records }
    }
  }
  const next = boundCursor(latest, { began: http.startedAt(), since, overlap: overlapSeconds })
  if (next !== undefined) yield { records: [], cursor: next }
}

/** Servers before 2023 do not store deletion times. */
async function* readDeletedSubmissions(
  http: HttpSession,
  question: SubmissionQuery,
  filter: string,
): AsyncGenerator<readonly unknown[]> {
  try {
    yield* readPages(http, question, filter)
  } catch (error) {
    if (!/\(501\)/.test((error as Error).message)) throw error
    question.log('WARN', 'LOW', 'This version of ODK Central does not tell what was deleted: full readings find it.')
  }
}

async function* readPages(
  http: HttpSession,
  { project, form }: SubmissionQuery,
  filter: string | undefined,
): AsyncGenerator<readonly unknown[], void, void> {
  const what = `The form "${form}" of project ${project}`
  const table = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}.svc/Submissions`
  let path = table
  let query = new URLSearchParams({ $expand: '*', ...(filter !== undefined && { $filter: filter }) })
  let most = pageSize
  for (;;) {
    const [at, wanted] = [path, Object.fromEntries(query)]
    // Submissions with long lists can be large.
    const { answer, limit } = await requestFittingPage(most, (top) =>
      http.getJson(at, { subject: what, query: { ...wanted, $top: top } }),
    )
    most = limit
    yield parseList(answer, name, 'value')
    const next = toText(parseObject(answer, name)['@odata.nextLink'])
    if (next === undefined) return
    const link = http.resolveLink(next)
    const mark = link.indexOf('?')
    path = mark < 0 ? link : link.slice(0, mark)
    query = new URLSearchParams(mark < 0 ? '' : link.slice(mark))
  }
}
