import type { connectorTypes } from '@sluice/contracts/connector-types'
import { compareNames, createOption, parseText, parseObject } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import type { SourceOption } from '../connector.ts'
import { createResourceStream } from '../fhir/fhir.ts'
import { searchResources, testSearch } from '../fhir/search-resources.ts'
import {
  type RecordPage,
  type SettingsOf,
  type RecordStream,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import {
  type ReportBlock,
  type ReportLink,
  type IhrisReport,
  parseReport,
  parseReportTitle,
  reportProfile,
} from './report-definition.ts'
import { type FhirPathExpression, isTrue } from '../fhir/fhirpath.ts'

type IhrisSettings = SettingsOf<typeof connectorTypes.ihris>

const ihrisName = 'iHRIS'
/** The maximum number of resource types that a connection test requests. */
const maxTestedTypes = 10

/** Reads iHRIS 5. Either a report that its users defined becomes a table, or each selected resource type does. */
export const ihris: HttpSystem<IhrisSettings> = {
  name: ihrisName,
  // Reports have no increments, because linked resources can change while the report's main resource does not.
  canReadIncrement: ({ report }) => report === undefined,
  createCursor: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['fhir'],
    headers: { accept: 'application/fhir+json, application/json' },
    async signIn(http) {
      const body = { email: username, password: requireSecret(secrets, 'password', 'the password of the account') }
      const response = await http.getJson('auth/token', { method: 'POST', body })
      return { authorization: `Bearer ${parseText(response, ihrisName, 'access_token')}` }
    },
  }),

  async testConnection({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) await readReport(http, report)
    for (const type of resourceTypes.slice(0, maxTestedTypes))
      await testSearch(http, { name: ihrisName, type, path: `fhir/${encodeURIComponent(type)}` })
  },

  listOptions: (kind, { http }) => (kind === 'reports' ? listReports(http) : undefined),

  async openStreams({ http, settings: { report, resourceTypes = [] } }) {
    if (report !== undefined) return createReportStream(report, await readReport(http, report), http)
    return resourceTypes.map((type) => createResourceStream(type, (since) => searchIhris(http, type, { since })))
  },
}

/** Returns the stream of a report. Links to multiple resources become child tables. */
function createReportStream(id: string, report: IhrisReport, http: HttpSession): RecordStream {
  const { main, links } = report
  const childTables = new Set(links.filter(({ isMultiple }) => isMultiple).map((link) => link.name))
  return {
    name: id,
    key: ['_id'],
    columns: [
      { path: '_id', dataType: 'TEXT' },
      ...main.columns.map(({ name: path, label }) => ({ path, label })),
      ...links.flatMap(({ columns, isMultiple, name: group }) =>
        columns.map(({ name: path, label }) => ({ path, label, ...(isMultiple && { groups: [group] }) })),
      ),
    ],
    isStoredAsJson: (path) => !childTables.has(path),
    readPages: () => readReportRows((type, search) => searchIhris(http, type, { search }), report),
  }
}

async function readReport(http: HttpSession, id: string): Promise<IhrisReport> {
  const resource = await http.getJson(`fhir/Basic/${encodeURIComponent(id)}`, { subject: `The report "${id}"` })
  return parseReport(parseObject(resource, ihrisName))
}

/** Lists the reports, sorted by title. */
async function listReports(http: HttpSession): Promise<SourceOption[]> {
  const reports: SourceOption[] = []
  const search = new URLSearchParams({ _profile: reportProfile }).toString()
  for await (const { records } of searchIhris(http, 'Basic', { search }))
    for (const resource of records) {
      const { code, label } = parseReportTitle(resource)
      reports.push(...createOption(parseObject(resource, ihrisName)['id'], { code, name: label ?? code }))
    }
  return reports.toSorted(compareNames)
}

/** A resource without its type, which the report's block contains. */
type FhirResource = Readonly<Record<string, unknown>>
/** The resources of one row of a report, by the name of their block. */
type RowResources = Map<string, { block: ReportBlock; resources: readonly FhirResource[] }>
type SearchFunction = (type: string, search: string) => AsyncIterable<RecordPage>

/**
 * The maximum number of ids per request, and of resources in the cache. Many rows refer to the same resources, so a
 * cache helps.
 */
const maxIdsPerRequest = 50
const maxCachedResources = 5_000

/** Yields the rows of a report. Reads the main resources in pages and, for each page, the linked resources. */
async function* readReportRows(
  search: SearchFunction,
  { main, links }: IhrisReport,
): AsyncGenerator<RecordPage, void, void> {
  const cache = new Map<string, FhirResource>()
  const isIncluded = (resource: FhirResource) => main.filter === undefined || isTrue(main.filter(resource))
  for await (const page of search(main.resource, main.search)) {
    const mainResources = (page.records as FhirResource[]).filter(isIncluded)
    const rows = mainResources.map(
      (resource): RowResources => new Map([[main.name, { block: main, resources: [resource] }]]),
    )
    for (const link of links) await addLinkedResources(search, link, rows, cache)
    // Empty pages are not yielded, because the report can exclude all resources of many consecutive pages.
    if (rows.length > 0) yield { records: rows.map((row) => createReportRecord(row, main, links)) }
  }
}

/** Reads the linked resources of all rows, and adds them to the rows. */
async function addLinkedResources(
  search: SearchFunction,
  link: ReportLink,
  rows: readonly RowResources[],
  cache: Map<string, FhirResource>,
): Promise<void> {
  const keysByRow = rows.map((row) => listReferenceKeys(link, row))
  const allKeys = [...new Set(keysByRow.flat())]
  const resourcesByKey = link.targetReference
    ? await readReferringResources(search, link, link.targetReference, allKeys)
    : await readResourcesById(search, link, allKeys, cache)
  for (const [index, row] of rows.entries()) {
    const resources = keysByRow[index]!.flatMap((key) => resourcesByKey.get(key) ?? [])
    row.set(link.name, { block: link, resources })
  }
}

/**
 * Returns the keys (`Type/id`) by which the linked resources of a row are found: its references to these resources or,
 * if the linked resources refer to the row, its own keys.
 */
function listReferenceKeys({ originBlock, originReference, resource: type }: ReportLink, row: RowResources): string[] {
  const origin = row.get(originBlock)
  if (!origin) return []
  return origin.resources.flatMap((resource) => {
    if (!originReference) return [`${origin.block.resource}/${String(resource['id'])}`]
    return originReference(resource).map((reference) => toReferenceKey(String(reference), type))
  })
}

/**
 * Normalises a reference to `Type/id`. It can start with a server address, end with a version, or consist of only an
 * id.
 */
function toReferenceKey(reference: string, type: string): string {
  const segments = reference.replace(/\/_history\/.*$/, '').split('/')
  return segments.length > 1 ? segments.slice(-2).join('/') : `${type}/${reference}`
}

/** Returns the resources with these keys (`Type/id`), by key. Requests only those that are not in the cache. */
async function readResourcesById(
  search: SearchFunction,
  { resource: type, parameter }: ReportLink,
  keys: readonly string[],
  cache: Map<string, FhirResource>,
): Promise<Map<string, FhirResource[]>> {
  const resourcesByKey = new Map<string, FhirResource[]>()
  const missingIds: string[] = []
  for (const key of keys) {
    const cached = cache.get(key)
    if (cached) resourcesByKey.set(key, [cached])
    else missingIds.push(key.slice(key.indexOf('/') + 1))
  }
  for await (const resource of searchInBatches(search, type, parameter, missingIds)) {
    const key = `${type}/${String(resource['id'])}`
    addToList(resourcesByKey, key, resource)
    addToCache(cache, key, resource)
  }
  return resourcesByKey
}

/** Returns the resources that refer to a resource with one of these keys (`Type/id`), by key. */
async function readReferringResources(
  search: SearchFunction,
  { resource: type, parameter }: ReportLink,
  getReferences: FhirPathExpression,
  keys: readonly string[],
): Promise<Map<string, FhirResource[]>> {
  const resourcesByKey = new Map<string, FhirResource[]>()
  for await (const resource of searchInBatches(search, type, parameter, keys))
    for (const reference of getReferences(resource))
      addToList(resourcesByKey, toReferenceKey(String(reference), type), resource)
  return resourcesByKey
}

function addToList(resourcesByKey: Map<string, FhirResource[]>, key: string, resource: FhirResource): void {
  resourcesByKey.set(key, [...(resourcesByKey.get(key) ?? []), resource])
}

/** Yields the resources for which a search parameter has one of the values. A request contains at most 50 values. */
async function* searchInBatches(
  search: SearchFunction,
  type: string,
  parameter: string,
  values: readonly string[],
): AsyncGenerator<FhirResource, void, void> {
  for (let from = 0; from < values.length; from += maxIdsPerRequest) {
    const batch = values.slice(from, from + maxIdsPerRequest)
    const query = new URLSearchParams({ [parameter]: batch.join() }).toString()
    for await (const { records } of search(type, query)) yield* records as FhirResource[]
  }
}

/** Adds a resource to the cache. Removes the oldest one if the cache is full. */
function addToCache(cache: Map<string, FhirResource>, key: string, resource: FhirResource): void {
  if (cache.size >= maxCachedResources) cache.delete(cache.keys().next().value!)
  cache.set(key, resource)
}

/**
 * Converts a row to a record. A link to a single resource adds columns. If several resources match such a link, the one
 * that changed last is used. A link to multiple resources becomes a child table.
 */
function createReportRecord(
  row: RowResources,
  main: ReportBlock,
  links: readonly ReportLink[],
): Record<string, unknown> {
  const [mainResource] = row.get(main.name)!.resources
  const record: Record<string, unknown> = { _id: mainResource!['id'], ...readColumns(main, mainResource!) }
  for (const link of links) {
    const { resources } = row.get(link.name)!
    if (link.isMultiple) {
      record[link.name] = resources.map((resource) => ({ id: resource['id'], ...readColumns(link, resource) }))
      continue
    }
    // The search returns the resources with the same key in the order of their changes.
    const latest = resources.at(-1)
    if (!latest) continue
    for (const [column, value] of Object.entries(readColumns(link, latest))) {
      const fieldName = column in record ? `${link.name}.${column}` : column
      record[fieldName] = value
    }
  }
  return record
}

/** Returns the values of a resource by column name. Several simple values are joined to one text. */
const readColumns = ({ columns }: ReportBlock, resource: FhirResource): Record<string, unknown> =>
  Object.fromEntries(
    columns.flatMap(({ name: column, getValues }) => {
      const values = getValues(resource)
      if (values.length === 0) return []
      if (values.some((value) => typeof value === 'object')) return [[column, values]]
      return [[column, values.length === 1 ? values[0] : values.join(', ')]]
    }),
  )

/**
 * Searches the FHIR API of iHRIS. Links to next pages contain the address of an internal server, so only their query is
 * used.
 */
const searchIhris = (
  http: HttpSession,
  type: string,
  { search, since }: { search?: string; since?: string | undefined },
): AsyncGenerator<RecordPage, void, void> =>
  searchResources(http, {
    name: ihrisName,
    type,
    path: `fhir/${type}`,
    search,
    since,
    getNextPath: (link) => `fhir/${type}${/\?.*$/.exec(link)?.[0] ?? ''}`,
  })
