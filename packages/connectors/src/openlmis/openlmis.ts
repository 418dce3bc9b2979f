import type { SourceChoice } from '../connector.ts'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import { type SystemContext, type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret, overlapSeconds } from '../http-connector/http-system.ts'
import { boundCursor } from '../http-connector/paging.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'

type OpenlmisSettings = SettingsOf<'SOURCE_SYSTEM_H'>

const name = 'OpenLMIS'
const pageSize = 100
const maxFacilities = 20_000
const maxConcurrentRequests = 4

/** OpenLMIS 3: the requisitions that facilities started between two days, with their lines as child tables. */
export const openlmis: HttpSystem<OpenlmisSettings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: { authorization: `Bearer ${requireSecret(secrets, 'authToken', 'an API key of OpenLMIS')}` },
  }),

  async test({ http, settings: { facilities } }) {
    for (const facility of facilities.slice(0, 3)) {
      const id = encodeURIComponent(facility)
      parseObject(await http.getJson(`api/facilities/${id}`, { subject: `The facility "${facility}"` }), name)
      parsePage(await http.getJson('api/requisitions/search', { query: { facility, page: 0, size: 1 } }))
    }
    if (facilities.length === 0) await http.getJson('api/facilities', { query: { page: 0, size: 1 } })
  },

  lookup: (kind, { http }) => (kind === 'facilities' ? listFacilities(http) : undefined),

  async streams({ http, settings, signal }) {
    const stream: RecordStream = {
      name: 'requisitions',
      key: ['id'],
      columns,
      pages: (cursor) => readRequisitions({ http, settings, signal }, cursor),
    }
    return stream
  },
}

async function listFacilities(http: HttpSession): Promise<SourceChoice[]> {
  const found: SourceChoice[] = []
  for await (const page of readPages(http, 'api/facilities', { sort: 'name,asc' }, 500)) {
    for (const one of page) {
      const { id, code, name: called } = parseObject(one, name)
      const uuid = toText(id)
      if (uuid !== undefined) found.push({ id: uuid, code: toText(code) ?? uuid, name: toText(called) ?? uuid })
    }
    if (found.length >= maxFacilities) break
  }
  return found
}

/**
 * Reads requisitions. A search accepts one facility and returns no lines, so each requisition is then requested individually.
 * Pages are small, so that a preview requests no more than it shows.
 */
async function* readRequisitions(
  { http, settings, signal }: Pick<SystemContext<OpenlmisSettings>, 'http' | 'settings' | 'signal'>,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
  let latest = ''
  for (const facility of new Set(settings.facilities)) {
    const query = {
      facility,
      initiatedDateFrom: settings.startDate,
      initiatedDateTo: settings.endDate,
      modifiedDateFrom: typeof cursor === 'string' ? cursor : undefined,
      sort: 'createdDate,asc',
    }
    const what = `The facility "${facility}"`
    for await (const found of readPages(http, 'api/requisitions/search', query, pageSize, what)) {
      for (let from = 0; from < found.length; from += maxConcurrentRequests) {
        signal.throwIfAborted()
        const some = await Promise.all(
          found.slice(from, from + maxConcurrentRequests).map((one) => readRequisition(http, one)),
        )
        const records = some.filter((one) => one !== undefined)
        for (const one of records) latest = later(latest, one)
        yield { records: records.map(parseRequisition) }
      }
    }
  }
  // Facilities are read one after another, so only all of them together are complete.
  const next = boundCursor(latest, { began: http.startedAt(), since: toText(cursor), overlap: overlapSeconds })
  yield { records: [], ...(next !== undefined && { cursor: next }) }
}

function later(latest: string, one: unknown): string {
  const { modifiedDate, createdDate } = (one ?? {}) as Record<string, unknown>
  const moment = toText(modifiedDate) ?? toText(createdDate)
  if (moment === undefined || Number.isNaN(Date.parse(moment))) return latest
  return Date.parse(moment) <= Date.parse(latest) ? latest : moment
}

/** Reads a requisition with its lines; undefined if it was deleted in the meantime. */
async function readRequisition(http: HttpSession, one: unknown): Promise<unknown> {
  const id = toText(parseObject(one, name)['id'])
  if (id === undefined) return one
  try {
    return await http.getJson(`api/requisitions/${encodeURIComponent(id)}`, { subject: `The requisition "${id}"` })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** Reads all pages of a list in Spring's format. */
async function* readPages(
  http: HttpSession,
  path: string,
  query: QueryParameters,
  size: number,
  what?: string,
): AsyncGenerator<readonly unknown[], void, void> {
  for (let page = 0; ; page += 1) {
    const asked = { query: { ...query, page, size }, ...(what !== undefined && { subject: what }) }
    const { content, last } = parsePage(await http.getJson(path, asked))
    yield content
    if (last) return
  }
}

function parsePage(answer: unknown): { content: readonly unknown[]; last: boolean } {
  const { last, totalPages, number = 0 } = parseObject(answer, name)
  const content = parseList(answer, name, 'content')
  if (typeof last === 'boolean') return { content, last: last || content.length === 0 }
  if (typeof totalPages !== 'number') throw createResponseProblem(name, 'a page with "last" or "totalPages"')
  return { content, last: Number(number) + 1 >= totalPages || content.length === 0 }
}

const text = (path: string, groups?: readonly string[]): KnownColumn => ({
  path,
  dataType: 'TEXT',
  ...(groups && { groups }),
})

const lines = ['requisitionLineItems']

/** Codes are always text. */
const columns: KnownColumn[] = [
  ...['id', 'status', 'facility.id', 'facility.code', 'facility.name'].map((path) => text(path)),
  ...['program.id', 'program.code', 'program.name', 'processingPeriod.id', 'processingPeriod.name'].map((path) =>
    text(path),
  ),
  { path: 'createdDate', dataType: 'TIMESTAMPTZ' },
  { path: 'modifiedDate', dataType: 'TIMESTAMPTZ' },
  ...['id', 'orderable.id', 'orderable.productCode', 'orderable.fullProductName'].map((path) => text(path, lines)),
]

/** Fields with the form's definition and the available products: the same in all requisitions, and larger than these. */
const omittedFields = new Set([
  'template',
  'availableProducts',
  'availableFullSupplyProducts',
  'availableNonFullSupplyProducts',
  'stockAdjustmentReasons',
  'previousRequisitions',
])

/** Referenced objects are nested completely; only their plain fields are kept. */
const referenceFields = new Set([
  'facility',
  'supplyingFacility',
  'program',
  'processingPeriod',
  'orderable',
  'approvedProduct',
])

/** Removes `omittedFields` and simplifies references. The status changes, an object by status, become a list. */
function parseRequisition(record: unknown): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  return Object.fromEntries(
    Object.entries(record)
      .filter(([key]) => !omittedFields.has(key))
      .map(([key, value]) => [key, valueOf(key, value)]),
  )
}

function valueOf(key: string, value: unknown): unknown {
  if (key === 'statusChanges') return listStatusChanges(value)
  if (referenceFields.has(key)) return omitNestedFields(value)
  if (key === 'requisitionLineItems' && Array.isArray(value)) return value.map(parseRequisition)
  return value
}

/** `{SUBMITTED: {…}}`, or lists of those. */
function listStatusChanges(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value).flatMap(([status, one]) =>
    (Array.isArray(one) ? (one as unknown[]) : [one]).map((change) => ({ status, ...(change as object | null) })),
  )
}

function omitNestedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, field]) => typeof field !== 'object'))
}
