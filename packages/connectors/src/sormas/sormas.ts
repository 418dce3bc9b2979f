import type { connectorTypes } from '@sluice/contracts/connector-types'
import { type HttpSession, formatBasicAuthorization } from '../http-connector/http-session.ts'
import {
  compareNames,
  createOption,
  parseObject,
  parseList,
  createResponseProblem,
  toText,
} from '../http-connector/parse-response.ts'
import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import { overlapSeconds, requestFittingPage } from '../http-connector/paging.ts'
import type { SourceOption } from '../connector.ts'
import {
  type RecordPage,
  type SettingsOf,
  type RecordStream,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import { isExactNumber } from '../http-connector/exact-json.ts'

type SormasSettings = SettingsOf<typeof connectorTypes.sormas>

const sormasName = 'SORMAS'
const apiRoot = 'sormas-rest'
const initialPageSize = 1_000
const maxRecordsPerPage = 64_000
const maxTestedEntities = 10
const firstRecordMarker = 'NO_LAST_SYNCED_UUID'
/** A timestamp later than that of any record, for a request that should return no records. */
const futureTimestamp = 9_999_999_999_999

/** The API paths of the lists that contain the options of settings. */
const optionPaths: Readonly<Record<string, string>> = {
  regions: 'regions/all/0',
  districts: 'districts/all/0',
  communities: 'communities/all/0',
  facilities: 'facilities/general/0',
  'points-of-entry': 'pointsofentry/all/0',
}

/** Reads SORMAS: cases, contacts and other outbreak data. Each entity becomes a table. */
export const sormas: HttpSystem<SormasSettings> = {
  name: sormasName,
  canReadIncrement: () => true,
  createCursor: (moment) => Date.parse(moment),

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: [apiRoot, 'sormas-ui'],
    headers: {
      authorization: formatBasicAuthorization(
        username,
        requireSecret(secrets, 'password', 'the password of the account'),
      ),
    },
  }),

  async testConnection({ http, settings: { entities } }) {
    for (const entity of entities.slice(0, maxTestedEntities))
      await requestPage(http, entity, { since: futureTimestamp, size: 1, lastUuid: firstRecordMarker })
  },

  listOptions(kind, { http }) {
    const path = Object.hasOwn(optionPaths, kind) ? optionPaths[kind] : undefined
    return path === undefined ? undefined : listLocationOptions(http, path)
  },

  async openStreams({ http, settings: { entities, startDate } }) {
    const firstChange = startDate === undefined ? 0 : Date.parse(startDate)
    return entities.map(
      (entity): RecordStream => ({
        name: entity.toLowerCase(),
        key: ['uuid'],
        columns: entityColumns,
        // The API returns timestamps as numbers. This connector converts them to text, from which their type is
        // inferred.
        inferStrings: true,
        readPages: (cursor) => readChangedRecords(http, entity, typeof cursor === 'number' ? cursor : firstChange),
      }),
    )
  },
}

/**
 * Yields the records that changed since `initialSince`, in the order of their last change. Each page starts after the
 * last record of the previous page. The last page has the cursor of the next increment.
 */
async function* readChangedRecords(
  http: HttpSession,
  entity: string,
  initialSince: number,
): AsyncGenerator<RecordPage, void, void> {
  let start: PageStart = { since: initialSince, lastUuid: firstRecordMarker }
  let size = initialPageSize
  let maxSize = maxRecordsPerPage
  let latestChange: number | undefined
  for (;;) {
    const { page: records, pageSize } = await requestFittingPage(size, (limit) =>
      requestPage(http, entity, { ...start, size: limit }),
    )
    const wasTooLarge = pageSize < size
    if (wasTooLarge) {
      maxSize = size - 1
      size = pageSize
    }
    latestChange = findLatestChange(records, latestChange)
    const isLast = records.length < size
    const cursor = isLast ? createCursor(latestChange, initialSince, http.startedAt()) : undefined
    yield { records: records.map(formatTimestamps), cursor }
    if (isLast) return
    const nextStart = getNextStart(records, start)
    if (nextStart.since >= start.since) {
      start = nextStart
      continue
    }
    // The server sorts by the change of the record itself, but returns the later change of one of its parts. So the
    // page is requested again with twice the size, to reach beyond such records.
    if (2 * size > maxSize) throw createResponseProblem(sormasName, 'records in the order of their changes')
    size *= 2
  }
}

/** The change time and the uuid of the record after which a page starts. */
interface PageStart {
  since: number
  lastUuid: string
}

/** Returns the start after the last record. Throws `SourceProblem` if it is the start of the same page again. */
function getNextStart(records: readonly unknown[], start: PageStart): PageStart {
  const { uuid, changeDate } = parseObject(records.at(-1), sormasName)
  const lastUuid = toText(uuid)
  const since = parseTimestamp(changeDate)
  const isSameStart = lastUuid === start.lastUuid && since === start.since
  if (lastUuid === undefined || since === undefined || isSameStart)
    throw createResponseProblem(sormasName, 'increasing uuid and changeDate')
  return { since, lastUuid }
}

/** Returns the latest change time of the records and of the earlier ones. */
function findLatestChange(records: readonly unknown[], earlierChange: number | undefined): number | undefined {
  let latestChange = earlierChange
  for (const record of records) {
    const changeTime = parseTimestamp((record as { changeDate?: unknown } | null)?.changeDate)
    if (changeTime !== undefined && changeTime > (latestChange ?? -Infinity)) latestChange = changeTime
  }
  return latestChange
}

/**
 * Returns the next cursor: some minutes before the latest change, so that increments overlap, or before the start of
 * the read if that is earlier. Returns undefined if there were no changes.
 */
function createCursor(latestChange: number | undefined, initialSince: number, startedAt: number): number | undefined {
  if (latestChange === undefined) return undefined
  const latest = Math.min(latestChange, Math.floor(startedAt))
  return Math.max(initialSince, latest - overlapSeconds * 1000)
}

async function requestPage(
  http: HttpSession,
  entity: string,
  { since, size, lastUuid }: PageStart & { size: number },
): Promise<readonly unknown[]> {
  const words = entity.toLowerCase().split('_')
  const path = `${apiRoot}/${words.join('')}/all/${since}/${size}/${encodeURIComponent(lastUuid)}`
  return parseList(await http.getJson(path, { subject: `The list of ${words.join(' ')}` }), sormasName)
}

async function listLocationOptions(http: HttpSession, path: string): Promise<SourceOption[]> {
  const options = parseList(await http.getJson(`${apiRoot}/${path}`), sormasName).flatMap((item) => {
    const { uuid, externalID: externalId, epidCode, name: title } = parseObject(item, sormasName)
    return createOption(uuid, { code: toText(externalId) ?? epidCode, name: title })
  })
  return options.toSorted(compareNames)
}

/** Columns of every record, and codes that are always text. */
const entityColumns: KnownColumn[] = [
  { path: 'uuid', dataType: 'TEXT' },
  ...declareColumns('TIMESTAMPTZ', ['creationDate', 'changeDate']),
  ...declareColumns('TEXT', ['externalID', 'externalToken', 'internalToken']),
  ...declareColumns('TEXT', ['epidNumber', 'caseIdExternalSystem', 'labSampleID']),
]

/** Timestamps from 1973 and 2100, in Unix milliseconds. Counts in outbreak data are outside this range. */
const minTimestamp = 100_000_000_000
const maxTimestamp = 4_102_444_800_000
/** In a field with `date` in its name, a number of at least this size is a timestamp. */
const minDateFieldTimestamp = 100_000

/** Parses a timestamp. The API returns milliseconds, although its specification declares text, so both are accepted. */
function parseTimestamp(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isFinite(time) ? time : undefined
}

/** Converts the timestamps of a record to text, also in nested objects and lists. */
function formatTimestamps(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(formatTimestamps)
  if (typeof record !== 'object' || record === null || isExactNumber(record)) return record
  const fields = Object.entries(record).map(([key, value]) => [key, formatField(key, value)])
  return Object.fromEntries(fields)
}

function formatField(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return formatTimestamps(value)
  const isDateField = /date(time)?$/i.test(key)
  const isLargeEnough = isDateField ? Math.abs(value) >= minDateFieldTimestamp : value >= minTimestamp
  const isTimestamp = Number.isInteger(value) && isLargeEnough && value < maxTimestamp
  return isTimestamp ? new Date(value).toISOString() : value
}
