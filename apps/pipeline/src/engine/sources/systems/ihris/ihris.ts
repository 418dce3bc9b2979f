import type { Choice } from '../../reading.ts'
import { fieldsOf, strange, textOf } from '../http/answers.ts'
import { streamOf } from '../fhir/fhir.ts'
import { resourcesOf } from '../fhir/search.ts'
import { type Asking, demandSecret, type SettingsOf, type Stream, type System } from '../system.ts'
import { type Report, reportOf, reportProfile, titleOf } from './report.ts'
import { reportRows, searchIhris } from './report-rows.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_D'>
type Http = Asking['http']

const name = 'iHRIS'
const mostTried = 10

/** iHRIS 5: a report as its people have made it, or resources, a table for each type. */
export const ihris: System<Settings> = {
  name,
  // What hangs on the people of a report changes without them.
  increments: ({ report }) => report === undefined,
  cursorAt: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    without: ['fhir'],
    headers: { accept: 'application/fhir+json, application/json' },
    async signIn(http) {
      const body = { email: username, password: demandSecret(secrets, 'password', 'the password of the account') }
      const token = textOf(fieldsOf(await http.json('auth/token', { method: 'POST', body }), name)['access_token'])
      if (token === undefined) throw strange(name, 'an access_token')
      return { authorization: `Bearer ${token}` }
    },
  }),

  async test({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) await readReport(http, report)
    for (const type of resourceTypes.slice(0, mostTried)) {
      const what = `The resources of type ${type}`
      resourcesOf(await http.json(`fhir/${encodeURIComponent(type)}`, { query: { _count: 1 }, what }), { name, type })
    }
  },

  lookup: (kind, { http }) => (kind === 'reports' ? reports(http) : undefined),

  async streams({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) return reportStream(report, await readReport(http, report), http)
    return resourceTypes.map((type) => streamOf(type, ({ since }) => searchIhris(http, since)(type)))
  },
}

function reportStream(id: string, report: Report, http: Http): Stream {
  const { main, links } = report
  const several = new Set(links.filter(({ multiple }) => multiple).map((link) => link.name))
  return {
    name: id,
    key: ['_id'],
    columns: [{ path: '_id', dataType: 'TEXT' }, ...main.columns.map(known()), ...links.flatMap(columnsOf)],
    whole: (path) => !several.has(path),
    pages: () => reportRows(searchIhris(http), report),
  }
}

/** What people call a column. */
const known =
  (groups?: string[]) =>
  ({ name: path, label }: { name: string; label: string }) => ({ path, label, ...(groups && { groups }) })

const columnsOf = ({ columns, multiple, name: block }: Report['links'][number]) =>
  columns.map(known(multiple ? [block] : undefined))

async function readReport(http: Http, id: string): Promise<Report> {
  return reportOf(
    fieldsOf(await http.json(`fhir/Basic/${encodeURIComponent(id)}`, { what: `The report "${id}"` }), name),
  )
}

/** By what people call them. */
async function reports(http: Http): Promise<Choice[]> {
  const found: Choice[] = []
  const search = new URLSearchParams({ _profile: reportProfile }).toString()
  for await (const { records } of searchIhris(http)('Basic', search)) {
    for (const one of records) {
      const id = textOf(fieldsOf(one, name)['id'])
      const { code, name: label } = titleOf(one)
      if (id !== undefined) found.push({ id, code: code ?? id, name: label ?? code ?? id })
    }
  }
  return found.toSorted((one, other) => one.name.localeCompare(other.name))
}
