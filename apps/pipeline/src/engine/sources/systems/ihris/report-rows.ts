import type { Http } from '../http/connection.ts'
import { isTrue } from '../fhir/fhirpath-functions.ts'
import { searched } from '../fhir/search.ts'
import type { Page } from '../system.ts'
import type { Block, Link, Report } from './report.ts'

/** A resource without its type, which its block says. */
type Resource = Readonly<Record<string, unknown>>
/** Of one row: the resources that each block has. */
type Found = Map<string, { block: Block; resources: readonly Resource[] }>
type SearchFor = (type: string, search: string) => AsyncIterable<Page>

/** Resources that are asked for by their ids at once, and those that are remembered since many rows lead to them. */
const atOnce = 50
const mostKept = 5_000

/** The rows of a report: for each page of its main resources, those that hang on them. */
export async function* reportRows(search: SearchFor, { main, links }: Report): AsyncGenerator<Page, void, void> {
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
export const searchIhris =
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
