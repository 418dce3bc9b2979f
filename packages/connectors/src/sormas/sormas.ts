import type { SourceChoice } from '../connector.ts'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { basicAuthorization } from '../http-connector/http-session.ts'
import { type SystemContext, type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret, overlapSeconds } from '../http-connector/http-system.ts'
import { isExact } from '../http-connector/exact-json.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'

type SormasSettings = SettingsOf<'SOURCE_SYSTEM_I'>
type Http = SystemContext['http']

const name = 'SORMAS'
const root = 'sormas-rest'
const pageSize = 1_000
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
  increments: () => true,
  cursorAt: (moment) => Date.parse(moment),

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: [root, 'sormas-ui'],
    headers: {
      authorization: basicAuthorization(username, requireSecret(secrets, 'password', 'the password of the account')),
    },
  }),

  async test({ http, settings: { entities } }) {
    for (const entity of entities.slice(0, maxTestedEntities))
      await requestPage(http, entity, { since: futureTimestamp, size: 1, last: firstRecordMarker })
  },

  lookup(kind, { http }) {
    const path = Object.hasOwn(choicePaths, kind) ? choicePaths[kind] : undefined
    return path === undefined ? undefined : listChoices(http, path)
  },

  async streams({ http, settings: { entities, startDate } }) {
    const first = startDate === undefined ? 0 : Date.parse(startDate)
    return entities.map(
      (entity): RecordStream => ({
        name: entity.toLowerCase(),
        key: ['uuid'],
        columns,
        // The API returns timestamps as numbers, which this connector converts to text.
        inferStrings: true,
        pages: (cursor) => readChangedRecords(http, entity, typeof cursor === 'number' ? cursor : first),
      }),
    )
  },
}

/** Reads records in the order of their changes; each page starts after the last record of the previous page. */
async function* readChangedRecords(http: Http, entity: string, first: number): AsyncGenerator<RecordPage, void, void> {
  let [since, last, size] = [first, firstRecordMarker, pageSize]
  let most = maxPageSize
  let latest: number | undefined
  for (;;) {
    const records = await requestPage(http, entity, { since, size, last })
    if (records === 'TOO_LARGE') {
      most = size - 1
      size = Math.ceil(size / 4)
      continue
    }
    for (const record of records) {
      const changed = parseTimestamp((record as { changeDate?: unknown } | null)?.changeDate)
      if (changed !== undefined && changed > (latest ?? -Infinity)) latest = changed
    }
    const over = records.length < size
    // An increment overlaps the previous read by some minutes.
    const until = latest === undefined ? undefined : Math.min(latest, Math.floor(http.startedAt()))
    const cursor = over && until !== undefined ? Math.max(first, until - overlapSeconds * 1000) : undefined
    yield { records: records.map(formatTimestamps), ...(cursor !== undefined && { cursor }) }
    if (over) return
    const { uuid, changeDate } = parseObject(records.at(-1), name)
    const [next, from] = [toText(uuid), parseTimestamp(changeDate)]
    if (next === undefined || from === undefined || (next === last && from === since))
      throw createResponseProblem(name, 'a uuid and a changeDate that go on')
    if (from < since) {
      // The server orders records by their own change date, but returns the later date of a changed part. A page must contain
      // all of these records.
      if (2 * size > most) throw createResponseProblem(name, 'records in the order of their changes')
      size *= 2
      continue
    }
    ;[last, since] = [next, from]
  }
}

async function requestPage(
  http: Http,
  entity: string,
  { since, size, last }: { since: number; size: number; last: string },
): Promise<readonly unknown[] | 'TOO_LARGE'> {
  const path = entity.toLowerCase().replaceAll('_', '')
  const what = `What is called ${entity.toLowerCase().replaceAll('_', ' ')}`
  try {
    return parseList(
      await http.getJson(`${root}/${path}/all/${since}/${size}/${encodeURIComponent(last)}`, { subject: what }),
      name,
    )
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ANSWER_TOO_LARGE' && size > 1) return 'TOO_LARGE'
    throw error
  }
}

async function listChoices(http: Http, path: string): Promise<SourceChoice[]> {
  const found = parseList(await http.getJson(`${root}/${path}`), name).flatMap((one): SourceChoice[] => {
    const { uuid, externalID: external, epidCode, name: called } = parseObject(one, name)
    const id = toText(uuid)
    return id === undefined
      ? []
      : [{ id, code: toText(external) ?? toText(epidCode) ?? id, name: toText(called) ?? id }]
  })
  return found.toSorted((one, other) => one.name.localeCompare(other.name))
}

/** Columns of all records, and codes that are always text. */
const columns: KnownColumn[] = [
  { path: 'uuid', dataType: 'TEXT' },
  { path: 'creationDate', dataType: 'TIMESTAMPTZ' },
  { path: 'changeDate', dataType: 'TIMESTAMPTZ' },
  ...['externalID', 'externalToken', 'internalToken', 'epidNumber', 'caseIdExternalSystem', 'labSampleID'].map(
    (path): KnownColumn => ({ path, dataType: 'TEXT' }),
  ),
]

/** Milliseconds of the years 1973 and 2100. Counts in outbreak data are never in this range. */
const [earliest, latest] = [100_000_000_000, 4_102_444_800_000]

/** Parses a timestamp. The API returns milliseconds although its description declares text; this function accepts both. */
function parseTimestamp(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isFinite(time) ? time : undefined
}

function formatTimestamps(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(formatTimestamps)
  if (typeof record !== 'object' || record === null || isExact(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, valueOf(key, value)]))
}

function valueOf(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return formatTimestamps(value)
  const moment = value >= earliest && value < latest
  const early = /date(time)?$/i.test(key) && Math.abs(value) >= 100_000 && value < latest
  return Number.isInteger(value) && (moment || early) ? new Date(value).toISOString() : value
}
