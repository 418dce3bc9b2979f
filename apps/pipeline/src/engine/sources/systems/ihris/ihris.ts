import type { Http } from '../http/connection.ts'
import type { Choice } from '../../reading.ts'
import { fieldsOf, strange, textOf } from '../http/answers.ts'
import { streamOf } from '../fhir/fhir.ts'
import { resourcesOf, searched } from '../fhir/search.ts'
import { type Page, type SettingsOf, type Stream, type System, demandSecret } from '../system.ts'
import { type Block, type Link, type Report, reportOf, reportProfile, titleOf } from './report.ts'
import { isTrue } from '../fhir/fhirpath.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_D'>

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

/** A resource without its type, which its block says. */
type Resource = Readonly<Record<string, unknown>>
/** Of one row: the resources that each block has. */
type Found = Map<string, { block: Block; resources: readonly Resource[] }>
type SearchFor = (type: string, search: string) => AsyncIterable<Page>

/** Resources that are asked for by their ids at once, and those that are remembered since many rows lead to them. */
const atOnce = 50
const mostKept = 5_000

/** The rows of a report: for each page of its main resources, those that hang on them. */
async function* reportRows(search: SearchFor, { main, links }: Report): AsyncGenerator<Page, void, void> {
  const kept = new Map<string, Resource>()
  for await (const page of search(main.resource, main.search)) {
    const wanted = (page.records as Resource[]).filter((one) => main.wanted === undefined || isTrue(main.wanted(one)))
    const rows = wanted.map((resource): Found => new Map([[main.name, { block: main, resources: [resource] }]]))
    for (const link of links) {
      const keys = rows.map((row) => keysInto(link, row))
      const linked = await linkedBy(search, link, new Set(keys.flat()), kept)
      for (const [index, row] of rows.entries())
        row.set(link.name, { block: link, resources: keys[index]!.flatMap((key) => linked.get(key) ?? []) })
    }
    // What a report does not want may fill many pages.
    if (rows.length > 0) yield { records: rows.map((row) => recordOf(row, main, links)) }
  }
}

/** `Type/id` of what a row has that leads to a link. */
function keysInto({ to, from, resource }: Link, row: Found): string[] {
  const { block, resources } = row.get(to) ?? { block: undefined, resources: [] }
  return resources.flatMap((one) =>
    from ? from(one).map((value) => keyOf(String(value), resource)) : [`${block!.resource}/${String(one['id'])}`],
  )
}

/** References may have the address of a server in front, or a version behind; ids stand alone. */
function keyOf(reference: string, type: string): string {
  const parts = reference.replace(/\/_history\/.*$/, '').split('/')
  return parts.length > 1 ? parts.slice(-2).join('/') : `${type}/${reference}`
}

async function linkedBy(
  search: SearchFor,
  { resource, element, parameter }: Link,
  keys: ReadonlySet<string>,
  kept: Map<string, Resource>,
): Promise<Map<string, Resource[]>> {
  const found = new Map<string, Resource[]>()
  const add = (key: string, one: Resource) => void found.set(key, [...(found.get(key) ?? []), one])
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
      for (const one of records as Resource[]) {
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

/** Where a link has one resource, its columns are the row's; the one that was changed last, where there are more. */
function recordOf(row: Found, main: Block, links: readonly Link[]): Record<string, unknown> {
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

/** Several values are one text where they are plain. */
const valuesOf = ({ columns }: Block, resource: Resource): Record<string, unknown> =>
  Object.fromEntries(
    columns.flatMap(({ name, value }) => {
      const values = value(resource)
      if (values.length === 0) return []
      if (values.some((one) => typeof one === 'object')) return [[name, values]]
      return [[name, values.length === 1 ? values[0] : values.join(', ')]]
    }),
  )

/** How the FHIR interface of iHRIS is searched: its links to next pages name the store behind it, so only their question counts. */
const searchIhris =
  (http: Http, since?: string) =>
  (type: string, search = ''): AsyncGenerator<Page, void, void> =>
    searched(http, {
      name: 'iHRIS',
      type,
      path: `fhir/${type}`,
      search,
      ...(since !== undefined && { since }),
      follow: (link) => `fhir/${type}${/\?.*$/.exec(link)?.[0] ?? ''}`,
    })
