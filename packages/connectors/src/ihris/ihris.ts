import type { HttpSession } from '../http-connector/http-session.ts'
import type { SourceChoice } from '../connector.ts'
import { parseObject, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { streamOf } from '../fhir/fhir.ts'
import { resourcesOf, searchResources } from '../fhir/search.ts'
import { type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret } from '../http-connector/http-system.ts'
import { type ReportBlock, type ReportLink, type IhrisReport, reportOf, reportProfile, titleOf } from './report.ts'
import { isTrue } from '../fhir/fhirpath.ts'

type IhrisSettings = SettingsOf<'SOURCE_SYSTEM_D'>

const name = 'iHRIS'
const mostTried = 10

/** iHRIS 5: a report that its users defined, or resources, a table for each type. */
export const ihris: HttpSystem<IhrisSettings> = {
  name,
  // The linked resources of a report change independently of its main resources.
  increments: ({ report }) => report === undefined,
  cursorAt: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['fhir'],
    headers: { accept: 'application/fhir+json, application/json' },
    async signIn(http) {
      const body = { email: username, password: requireSecret(secrets, 'password', 'the password of the account') }
      const token = toText(
        parseObject(await http.getJson('auth/token', { method: 'POST', body }), name)['access_token'],
      )
      if (token === undefined) throw createResponseProblem(name, 'an access_token')
      return { authorization: `Bearer ${token}` }
    },
  }),

  async test({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) await readReport(http, report)
    for (const type of resourceTypes.slice(0, mostTried)) {
      const what = `The resources of type ${type}`
      resourcesOf(await http.getJson(`fhir/${encodeURIComponent(type)}`, { query: { _count: 1 }, subject: what }), {
        name,
        type,
      })
    }
  },

  lookup: (kind, { http }) => (kind === 'reports' ? reports(http) : undefined),

  async streams({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) return reportStream(report, await readReport(http, report), http)
    return resourceTypes.map((type) => streamOf(type, ({ since }) => searchIhris(http, since)(type)))
  },
}

function reportStream(id: string, report: IhrisReport, http: HttpSession): RecordStream {
  const { main, links } = report
  const several = new Set(links.filter(({ multiple }) => multiple).map((link) => link.name))
  return {
    name: id,
    key: ['_id'],
    columns: [{ path: '_id', dataType: 'TEXT' }, ...main.columns.map(known()), ...links.flatMap(columnsOf)],
    isStoredAsJson: (path) => !several.has(path),
    pages: () => reportRows(searchIhris(http), report),
  }
}

const known =
  (groups?: string[]) =>
  ({ name: path, label }: { name: string; label: string }) => ({ path, label, ...(groups && { groups }) })

const columnsOf = ({ columns, multiple, name: block }: IhrisReport['links'][number]) =>
  columns.map(known(multiple ? [block] : undefined))

async function readReport(http: HttpSession, id: string): Promise<IhrisReport> {
  return reportOf(
    parseObject(await http.getJson(`fhir/Basic/${encodeURIComponent(id)}`, { subject: `The report "${id}"` }), name),
  )
}

/** Lists the reports by title. */
async function reports(http: HttpSession): Promise<SourceChoice[]> {
  const found: SourceChoice[] = []
  const search = new URLSearchParams({ _profile: reportProfile }).toString()
  for await (const { records } of searchIhris(http)('Basic', search)) {
    for (const one of records) {
      const id = toText(parseObject(one, name)['id'])
      const { code, name: label } = titleOf(one)
      if (id !== undefined) found.push({ id, code: code ?? id, name: label ?? code ?? id })
    }
  }
  return found.toSorted((one, other) => one.name.localeCompare(other.name))
}

/** A resource without its type, which the block of the report contains. */
type FhirResource = Readonly<Record<string, unknown>>
type ReferencedResources = Map<string, { block: ReportBlock; resources: readonly FhirResource[] }>
type SearchFunction = (type: string, search: string) => AsyncIterable<RecordPage>

/** Maximum ids in one request, and maximum number of cached resources, because many rows refer to the same ones. */
const atOnce = 50
const mostKept = 5_000

/** Yields the rows of a report: the main resources page by page, with their linked resources. */
async function* reportRows(
  search: SearchFunction,
  { main, links }: IhrisReport,
): AsyncGenerator<RecordPage, void, void> {
  const kept = new Map<string, FhirResource>()
  for await (const page of search(main.resource, main.search)) {
    const wanted = (page.records as FhirResource[]).filter(
      (one) => main.wanted === undefined || isTrue(main.wanted(one)),
    )
    const rows = wanted.map(
      (resource): ReferencedResources => new Map([[main.name, { block: main, resources: [resource] }]]),
    )
    for (const link of links) {
      const keys = rows.map((row) => keysInto(link, row))
      const linked = await linkedBy(search, link, new Set(keys.flat()), kept)
      for (const [index, row] of rows.entries())
        row.set(link.name, { block: link, resources: keys[index]!.flatMap((key) => linked.get(key) ?? []) })
    }
    // The report can exclude the resources of many pages.
    if (rows.length > 0) yield { records: rows.map((row) => recordOf(row, main, links)) }
  }
}

/** Returns the references, as `Type/id`, from a row to the resources of a link. */
function keysInto({ to, from, resource }: ReportLink, row: ReferencedResources): string[] {
  const { block, resources } = row.get(to) ?? { block: undefined, resources: [] }
  return resources.flatMap((one) =>
    from ? from(one).map((value) => keyOf(String(value), resource)) : [`${block!.resource}/${String(one['id'])}`],
  )
}

/** References can start with a server address or end with a version; ids stand alone. */
function keyOf(reference: string, type: string): string {
  const parts = reference.replace(/\/_history\/.*$/, '').split('/')
  return parts.length > 1 ? parts.slice(-2).join('/') : `${type}/${reference}`
}

async function linkedBy(
  search: SearchFunction,
  { resource, element, parameter }: ReportLink,
  keys: ReadonlySet<string>,
  kept: Map<string, FhirResource>,
): Promise<Map<string, FhirResource[]>> {
  const found = new Map<string, FhirResource[]>()
  const add = (key: string, one: FhirResource) => void found.set(key, [...(found.get(key) ?? []), one])
  const missing: string[] = []
  for (const key of keys) {
    const known = element ? undefined : kept.get(key)
    if (known) add(key, known)
    else missing.push(key)
  }
  for (let from = 0; from < missing.length; from += atOnce) {
    const some = missing.slice(from, from + atOnce)
    const values = element ? some : some.map((key) => key.slice(key.indexOf('/') + 1))
    for await (const { records } of search(resource, new URLSearchParams({ [parameter]: values.join() }).toString())) {
      for (const one of records as FhirResource[]) {
        const own = `${resource}/${String(one['id'])}`
        for (const key of element ? element(one).map((value) => keyOf(String(value), resource)) : [own]) add(key, one)
        if (element) continue
        if (kept.size >= mostKept) kept.delete(kept.keys().next().value!)
        kept.set(own, one)
      }
    }
  }
  return found
}

/** Adds the columns of a link to the row if the link has a single resource; of several, the one that was changed last. */
function recordOf(row: ReferencedResources, main: ReportBlock, links: readonly ReportLink[]): Record<string, unknown> {
  const [resource] = row.get(main.name)!.resources
  const record: Record<string, unknown> = { _id: resource!['id'], ...valuesOf(main, resource!) }
  for (const link of links) {
    const { resources } = row.get(link.name)!
    const latest = resources.at(-1)
    if (link.multiple) record[link.name] = resources.map((one) => ({ id: one['id'], ...valuesOf(link, one) }))
    else if (latest)
      for (const [name, value] of Object.entries(valuesOf(link, latest)))
        record[name in record ? `${link.name}.${name}` : name] = value
  }
  return record
}

/** Joins several plain values into one text. */
const valuesOf = ({ columns }: ReportBlock, resource: FhirResource): Record<string, unknown> =>
  Object.fromEntries(
    columns.flatMap(({ name, value }) => {
      const values = value(resource)
      if (values.length === 0) return []
      if (values.some((one) => typeof one === 'object')) return [[name, values]]
      return [[name, values.length === 1 ? values[0] : values.join(', ')]]
    }),
  )

/** Searches the FHIR API of iHRIS. Its links to next pages contain the address of an internal store, so only their query is used. */
const searchIhris =
  (http: HttpSession, since?: string) =>
  (type: string, search = ''): AsyncGenerator<RecordPage, void, void> =>
    searchResources(http, {
      name: 'iHRIS',
      type,
      path: `fhir/${type}`,
      search,
      ...(since !== undefined && { since }),
      follow: (link) => `fhir/${type}${/\?.*$/.exec(link)?.[0] ?? ''}`,
    })
