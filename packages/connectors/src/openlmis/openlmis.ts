import type { connectorTypes } from '@sluice/contracts/connector-types'
import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import {
  createOption,
  parseObject,
  parseList,
  createResponseProblem,
  toText,
} from '../http-connector/parse-response.ts'
import type { SourceOption } from '../connector.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import {
  type SystemContext,
  type RecordPage,
  type SettingsOf,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import { createNextCursor } from '../http-connector/paging.ts'

type OpenlmisSettings = SettingsOf<typeof connectorTypes.openlmis>

const openLmisName = 'OpenLMIS'
const requisitionsPerPage = 100
const maxFacilities = 20_000
const facilitiesPerPage = 500
const maxConcurrentRequests = 4

/** Reads OpenLMIS 3: the requisitions that facilities started in a range of days. Their lines become child tables. */
export const openlmis: HttpSystem<OpenlmisSettings> = {
  name: openLmisName,
  canReadIncrement: () => true,
  createCursor: (moment) => moment,

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: { authorization: `Bearer ${requireSecret(secrets, 'authToken', 'an API key of OpenLMIS')}` },
  }),

  async testConnection({ http, settings: { facilities } }) {
    for (const facility of facilities.slice(0, 3)) {
      const id = encodeURIComponent(facility)
      parseObject(await http.getJson(`api/facilities/${id}`, { subject: `The facility "${facility}"` }), openLmisName)
      parsePage(await http.getJson('api/requisitions/search', { query: { facility, page: 0, size: 1 } }))
    }
    if (facilities.length === 0) await http.getJson('api/facilities', { query: { page: 0, size: 1 } })
  },

  listOptions: (kind, { http }) => (kind === 'facilities' ? listFacilities(http) : undefined),

  async openStreams({ http, settings, signal }) {
    return {
      name: 'requisitions',
      key: ['id'],
      columns: requisitionColumns,
      readPages: (cursor) => readRequisitions({ http, settings, signal }, toText(cursor)),
    }
  },
}

/** Lists the facilities by name, up to a maximum. */
async function listFacilities(http: HttpSession): Promise<SourceOption[]> {
  const facilities: SourceOption[] = []
  for await (const page of readSpringPages(http, 'api/facilities', { sort: 'name,asc' }, facilitiesPerPage)) {
    for (const item of page) {
      const { id, code, name: title } = parseObject(item, openLmisName)
      facilities.push(...createOption(id, { code, name: title }))
    }
    if (facilities.length >= maxFacilities) break
  }
  return facilities
}

/**
 * Reads requisitions. A search covers one facility and returns no lines, so each requisition is requested individually.
 * Pages are small, so that a preview requests only a few requisitions.
 */
async function* readRequisitions(
  { http, settings, signal }: Pick<SystemContext<OpenlmisSettings>, 'http' | 'settings' | 'signal'>,
  since: string | undefined,
): AsyncGenerator<RecordPage, void, void> {
  let latestTime = ''
  for (const facility of new Set(settings.facilities)) {
    const query = {
      facility,
      initiatedDateFrom: settings.startDate,
      initiatedDateTo: settings.endDate,
      modifiedDateFrom: since,
      sort: 'createdDate,asc',
    }
    const subject = `The facility "${facility}"`
    for await (const page of readSpringPages(http, 'api/requisitions/search', query, requisitionsPerPage, subject)) {
      for (let from = 0; from < page.length; from += maxConcurrentRequests) {
        signal.throwIfAborted()
        const batch = page.slice(from, from + maxConcurrentRequests)
        const requisitions = await Promise.all(batch.map((item) => readRequisition(http, item)))
        const records = requisitions.filter((record) => record !== undefined)
        for (const record of records) latestTime = getLaterTime(latestTime, record)
        yield { records: records.map(parseRequisition) }
      }
    }
  }
  // Only the last page has a cursor, because facilities are read one after another.
  yield { records: [], cursor: createNextCursor(latestTime, http.startedAt(), since) }
}

/** Returns the change time of a requisition, or `latestTime` if that is later or the requisition has no valid time. */
function getLaterTime(latestTime: string, record: unknown): string {
  const { modifiedDate, createdDate } = (record ?? {}) as Record<string, unknown>
  const time = toText(modifiedDate) ?? toText(createdDate)
  if (time === undefined || Number.isNaN(Date.parse(time))) return latestTime
  const isEarlier = Date.parse(time) <= Date.parse(latestTime)
  return isEarlier ? latestTime : time
}

/** Returns a requisition with its lines, or undefined if it was deleted after the search. */
async function readRequisition(http: HttpSession, summary: unknown): Promise<unknown> {
  const id = toText(parseObject(summary, openLmisName)['id'])
  if (id === undefined) return summary
  try {
    return await http.getJson(`api/requisitions/${encodeURIComponent(id)}`, { subject: `The requisition "${id}"` })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** Reads all pages of a list in the page format of Spring Data. */
async function* readSpringPages(
  http: HttpSession,
  path: string,
  query: QueryParameters,
  size: number,
  subject?: string,
): AsyncGenerator<readonly unknown[], void, void> {
  for (let page = 0; ; page += 1) {
    const options = { query: { ...query, page, size }, ...(subject !== undefined && { subject }) }
    const { content, isLast } = parsePage(await http.getJson(path, options))
    yield content
    if (isLast) return
  }
}

/** Parses a page of a list. An empty page counts as the last one. */
function parsePage(response: unknown): { content: readonly unknown[]; isLast: boolean } {
  const { last, totalPages, number: pageIndex = 0 } = parseObject(response, openLmisName)
  const content = parseList(response, openLmisName, 'content')
  const isEmpty = content.length === 0
  if (typeof last === 'boolean') return { content, isLast: last || isEmpty }
  if (typeof totalPages !== 'number') throw createResponseProblem(openLmisName, 'page with "last" or "totalPages"')
  const isLastIndex = Number(pageIndex) + 1 >= totalPages
  return { content, isLast: isLastIndex || isEmpty }
}

/** Declared columns. These fields contain codes, which are always text. */
const requisitionColumns: KnownColumn[] = [
  ...declareColumns('TEXT', ['id', 'status', 'facility.id', 'facility.code', 'facility.name']),
  ...declareColumns('TEXT', ['program.id', 'program.code', 'program.name']),
  ...declareColumns('TEXT', ['processingPeriod.id', 'processingPeriod.name']),
  ...declareColumns('TIMESTAMPTZ', ['createdDate', 'modifiedDate']),
  ...declareColumns('TEXT', ['id', 'orderable.id', 'orderable.productCode', 'orderable.fullProductName']).map(
    (column) => ({ ...column, groups: ['requisitionLineItems'] }),
  ),
]

/**
 * Fields that are left out. They contain the form's definition and all available products, which are the same in every
 * requisition.
 */
const omittedFields = new Set([
  'template',
  'availableProducts',
  'availableFullSupplyProducts',
  'availableNonFullSupplyProducts',
  'stockAdjustmentReasons',
  'previousRequisitions',
])

/** Fields with a referenced object. OpenLMIS nests these objects completely; only their simple fields are kept. */
const referenceFields = new Set([
  'facility',
  'supplyingFacility',
  'program',
  'processingPeriod',
  'orderable',
  'approvedProduct',
])

/**
 * Removes `omittedFields` from a requisition, simplifies referenced objects, and converts the status changes to a list.
 */
function parseRequisition(record: unknown): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  const fields = Object.entries(record).filter(([key]) => !omittedFields.has(key))
  return Object.fromEntries(fields.map(([key, value]) => [key, parseField(key, value)]))
}

function parseField(key: string, value: unknown): unknown {
  if (key === 'statusChanges') return flattenStatusChanges(value)
  if (referenceFields.has(key)) return omitNestedFields(value)
  if (key === 'requisitionLineItems' && Array.isArray(value)) return value.map(parseRequisition)
  return value
}

/**
 * Converts status changes to a list. The API returns an object with a field per status, such as `{ SUBMITTED: { … } }`;
 * a field can also contain a list.
 */
function flattenStatusChanges(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value).flatMap(([status, changes]) => {
    const changeList = Array.isArray(changes) ? (changes as unknown[]) : [changes]
    return changeList.map((change) => ({ status, ...(change as object | null) }))
  })
}

/** Returns an object without fields that contain objects or lists. Returns any other value unchanged. */
function omitNestedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, field]) => typeof field !== 'object'))
}
