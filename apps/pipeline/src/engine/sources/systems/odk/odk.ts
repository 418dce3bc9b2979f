import type { Choice } from '../../reading.ts'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import {
  type Asking,
  type Page,
  type SettingsOf,
  type Stream,
  type System,
  demandSecret,
  overlapSeconds,
} from '../system.ts'
import type { Http } from '../http/connection.ts'
import type { KnownColumn } from '../tables/table-spool.ts'
import { isExact } from '../tables/exact-numbers.ts'
import { fewerAtOnce } from '../http/fewer-at-once.ts'
import { nextCursor } from '../tables/moments.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_G'>

const name = 'ODK Central'

/** ODK Central: the submissions of one form, and its groups that repeat as tables below. */
export const odk: System<Settings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect({ apiSource: { url, username } }, secrets) {
    const password = demandSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      without: ['v1'],
      // By a session, since Central takes names and passwords over HTTPS only.
      async signIn(http) {
        const body = { email: username, password }
        const session = await http.json('v1/sessions', { method: 'POST', body, repeatable: true })
        const token = textOf(fieldsOf(session, name)['token'])
        if (token === undefined) throw strange(name, 'a token')
        return { authorization: `Bearer ${token}` }
      },
      // Else it lasts a day, and every run adds one.
      signOut: (http, { authorization = '' }) =>
        http.json(`v1/sessions/${encodeURIComponent(authorization.replace('Bearer ', ''))}`, { method: 'DELETE' }),
    }
  },

  async test({ http, settings: { project, form } }) {
    listIn(await http.json('v1/projects'), name)
    if (project !== undefined && form !== undefined) await formOf(http, project, form)
  },

  lookup(kind, asking) {
    if (kind === 'projects') return projects(asking)
    return kind === 'forms' ? forms(asking) : undefined
  },

  async streams({ http, settings, log }) {
    const { project, form, includeDeleted = false } = settings
    const stream: Stream = {
      name: form,
      key: ['__id'],
      columns: await formOf(http, project, form),
      // The form says which answers are texts; dates come as texts, and are what their values are.
      textsMayBeAnything: true,
      async *pages(cursor) {
        for await (const page of submissions(http, { project, form, includeDeleted, log }, cursor))
          yield { ...page, records: page.records.map(shaped) }
      },
    }
    return stream
  },
}

async function projects({ http }: Asking): Promise<Choice[]> {
  const found = listIn(await http.json('v1/projects'), name).flatMap((one) => {
    const { id, name: title, archived } = fieldsOf(one, name)
    const known = textOf(id)
    return known === undefined || archived === true ? [] : [{ id: known, code: known, name: textOf(title) ?? known }]
  })
  return found.toSorted(byName)
}

/** Forms that were published, of one project. */
async function forms({ http, within, settings }: Asking<Settings>): Promise<Choice[]> {
  const project = within ?? settings.project
  if (!project)
    throw new SourceProblem('PROJECT_MISSING', 'Forms are looked up in a project: choose one first, or say its number.')
  const asked = await http.json(`v1/projects/${encodeURIComponent(project)}/forms`, { what: `The project ${project}` })
  const found = listIn(asked, name).flatMap((one) => {
    const { xmlFormId, name: title, publishedAt } = fieldsOf(one, name)
    const id = textOf(xmlFormId)
    return id === undefined || publishedAt === null ? [] : [{ id, code: id, name: textOf(title) ?? id }]
  })
  return found.toSorted(byName)
}

const byName = (one: Choice, other: Choice): number => one.name.localeCompare(other.name, 'en')

/** Answers of these kinds are what their values are; those of all others are texts, whatever they look like. */
const typed = /^(int|decimal|boolean|date|time|dateTime|geopoint|geotrace|geoshape|structure|repeat)$/

/** As the server writes all submissions. */
const always: KnownColumn[] = [
  { path: '__id', dataType: 'TEXT' },
  { path: '__system.submissionDate', dataType: 'TIMESTAMPTZ' },
  { path: '__system.updatedAt', dataType: 'TIMESTAMPTZ' },
  { path: '__system.deletedAt', dataType: 'TIMESTAMPTZ' },
  ...['submitterId', 'submitterName', 'status', 'reviewState', 'deviceId', 'formVersion'].map((own) => ({
    path: `__system.${own}`,
    dataType: 'TEXT' as const,
  })),
]

/** What is known of submissions before any is read: the questions of all versions of the form, as OData spells them. */
async function formOf(http: Http, project: string, form: string): Promise<KnownColumn[]> {
  const what = `The form "${form}" of project ${project}`
  const path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}/fields`
  const fields = listIn(await http.json(path, { what, query: { odata: true } }), 'ODK Central')
  const columns = [...always]
  const repeats: string[] = []
  for (const field of fields) {
    const { path: given, type } = fieldsOf(field, 'ODK Central')
    const place = textOf(given) ?? ''
    if (type === 'repeat') repeats.push(place)
    if (place !== '' && !typed.test(textOf(type) ?? '')) columns.push(columnOf(place, repeats))
  }
  return columns
}

/** In the table of the innermost group that repeats, by the path below it. */
function columnOf(place: string, repeats: readonly string[]): KnownColumn {
  const groups: string[] = []
  let at = ''
  // An outer group stands before those inside of it.
  for (const repeat of repeats) {
    if (!repeat.startsWith(`${at}/`) || !place.startsWith(`${repeat}/`)) continue
    groups.push(pointed(repeat.slice(at.length + 1)))
    at = repeat
  }
  return { path: pointed(place.slice(at.length + 1)), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}

const pointed = (path: string): string => path.replaceAll('/', '.')

/** A submission without links to what stands in it anyway; points become their four numbers, accuracy among them. */
function shaped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shaped)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  const shape = value as Shape
  if ('type' in value && 'coordinates' in value) return shape.type === 'Point' ? pointOf(shape) : value
  const own = Object.entries(value).filter(([key]) => !key.endsWith('@odata.navigationLink'))
  return Object.fromEntries(own.map(([key, one]) => [key, shaped(one)]))
}

/** GeoJSON. */
interface Shape {
  type?: unknown
  coordinates?: unknown
  properties?: unknown
}

function pointOf({ coordinates, properties }: Shape): object {
  const [longitude, latitude, altitude] = Array.isArray(coordinates) ? (coordinates as unknown[]) : []
  const { accuracy } = (properties ?? {}) as { accuracy?: unknown }
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, one]) => Number.isFinite(one)),
  )
}

interface Question {
  project: string
  form: string
  includeDeleted: boolean
  log: Asking['log']
}

const pageSize = 1_000

/**
 * Newest first, each page from where the one before ended, so that nothing moves while it is read. From a cursor on: what was submitted
 * or edited since, then what was deleted since, which comes marked as such.
 */
async function* submissions(http: Http, question: Question, cursor: unknown): AsyncGenerator<Page, void, void> {
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
