import { type HttpSession, formatBasicAuthorization } from '../http-connector/http-session.ts'
import {
  compareNames,
  createOption,
  parseObject,
  parseList,
  createResponseProblem,
  toText,
} from '../http-connector/parse-response.ts'
import { declareColumns, type KnownColumn } from '../http-connector/record-tables.ts'
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

type SormasSettings = SettingsOf<'SOURCE_SYSTEM_I'>

const name = 'SORMAS'
const apiRoot = 'sormas-rest'
const initialPageSize = 1_000
const maxPageSize = 64_000
const maxTestedEntities = 10
const firstRecordMarker = 'NO_LAST_SYNCED_UUID'
/** A timestamp after all records, so that the request returns none. */
const futureTimestamp = 9_999_999_999_999

const choicePaths: Readonly<Record<string, string>> = {
  regions: 'regions/all/0',
  districts: 'districts/all/0',
  communities: 'communities/all/0',
  facilities: 'facilities/general/0',
  'points-of-entry': 'pointsofentry/all/0',
}

/** SORMAS: cases, contacts and other outbreak data, a table for each entity. */
export const sormas: HttpSystem<SormasSettings> = {
  name,
  canReadIncrement: () => true,
  createCursor: (moment) => Date.parse(moment),

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: [apiRoot, 'sormas-ui'],
    headers: {
      authorization: formatBasicAuthorization(username, requireSecret(secrets, 'password', 'the password of the account')),
    },
  }),

  async testConnection({ http, settings: { entities } }) {
    for (const entity of entities.slice(0, maxTestedEntities))
      await requestPage(http, entity, { since: futureTimestamp, size: 1, lastUuid: firstRecordMarker })
  },

  listOptions(kind, { http }) {
    const path = Object.hasOwn(choicePaths, kind) ? choicePaths[kind] : undefined
    return path === undefined ? undefined : listChoices(http, path)
  },

  async openStreams({ http, settings: { entities, startDate } }) {
    const first = startDate === undefined ? 0 : Date.parse(startDate)
    return entities.map(
      (entity): RecordStream => ({
        name: entity.toLowerCase(),
        key: ['uuid'],
        columns,
        // The API returns timestamps as numbers, which this connector converts to text.
        inferStrings: true,
        readPages: (cursor) => readChangedRecords(http, entity, typeof cursor === 'number' ? cursor : first),
      }),
    )
  },
}

/** Reads records in the order of their changes; each page starts after the last record of the previous page. */
async function* readChangedRecords(
  http: HttpSession,
  entity: string,
  first: number,
): AsyncGenerator<RecordPage, void, void> {
  let [since, lastUuid, size] = [first, firstRecordMarker, initialPageSize]
  let maxSize = maxPageSize
  let latest: number | undefined
  for (;;) {
    const { page: records, pageSize } = await requestFittingPage(size, (limit) =>
      requestPage(http, entity, { since, size: limit, lastUuid }),
    )
    if (pageSize < size) [size, maxSize] = [pageSize, size - 1]
    for (const record of records) {
      const changed = parseTimestamp((record as { changeDate?: unknown } | null)?.changeDate)
      if (changed !== undefined && changed > (latest ?? -Infinity)) latest = changed
    }
    const isLast = records.length < size
    // An increment overlaps the previous read by some minutes.
    const until = latest === undefined ? undefined : Math.min(latest, Math.floor(http.startedAt()))
    const cursor = isLast && until !== undefined ? Math.max(first, until - overlapSeconds * 1000) : undefined
    yield { records: records.map(formatTimestamps), cursor }
    if (isLast) return
    const { uuid, changeDate } = parseObject(records.at(-1), name)
    const [nextUuid, nextSince] = [toText(uuid), parseTimestamp(changeDate)]
    if (nextUuid === undefined || nextSince === undefined || (nextUuid === lastUuid && nextSince === since))
      throw createResponseProblem(name, 'uuid and changeDate that grow')
    if (nextSince < since) {
      // The server orders records by their own change date, but returns the later date of a changed part. A page must contain
      // all of these records.
      if (2 * size > maxSize) throw createResponseProblem(name, 'records in the order of their changes')
      size *= 2
      continue
    }
    ;[lastUuid, since] = [nextUuid, nextSince]
  }
}

async function requestPage(
  http: HttpSession,
  entity: string,
  { since, size, lastUuid }: { since: number; size: number; lastUuid: string },
): Promise<readonly unknown[]> {
  const words = entity.toLowerCase().split('_')
  const path = `${apiRoot}/${words.join('')}/all/${since}/${size}/${encodeURIComponent(lastUuid)}`
  return parseList(await http.getJson(path, { subject: `The list of ${words.join(' ')}` }), name)
}

async function listChoices(http: HttpSession, path: string): Promise<SourceOption[]> {
  const choices = parseList(await http.getJson(`${apiRoot}/${path}`), name).flatMap((item) => {
    const { uuid, externalID: externalId, epidCode, name: title } = parseObject(item, name)
    return createOption(uuid, { code: toText(externalId) ?? epidCode, name: title })
  })
  return choices.toSorted(compareNames)
}

/** Columns of all records, and codes that are always text. */
const columns: KnownColumn[] = [
  { path: 'uuid', dataType: 'TEXT' },
  ...declareColumns('TIMESTAMPTZ', ['creationDate', 'changeDate']),
  ...declareColumns('TEXT', ['externalID', 'externalToken', 'internalToken']),
  ...declareColumns('TEXT', ['epidNumber', 'caseIdExternalSystem', 'labSampleID']),
]

/** Milliseconds of the years 1973 and 2100. Counts in outbreak data are never in this range. */
const [minTimestamp, maxTimestamp] = [100_000_000_000, 4_102_444_800_000]

/** Parses a timestamp. The API returns milliseconds although its description declares text; this function accepts both. */
function parseTimestamp(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isFinite(time) ? time : undefined
}

function formatTimestamps(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(formatTimestamps)
  if (typeof record !== 'object' || record === null || isExactNumber(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, formatField(key, value)]))
}

function formatField(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return formatTimestamps(value)
  const isTimestamp = value >= minTimestamp && value < maxTimestamp
  const isEarlyDate = /date(time)?$/i.test(key) && Math.abs(value) >= 100_000 && value < maxTimestamp
  return Number.isInteger(value) && (isTimestamp || isEarlyDate) ? new Date(value).toISOString() : value
}
