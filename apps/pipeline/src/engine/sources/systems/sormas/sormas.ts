import type { Choice } from '../../reading.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import { basicAuthorization } from '../../../basic-authorization.ts'
import {
  type Asking,
  type Page,
  type SettingsOf,
  type Stream,
  type System,
  demandSecret,
  overlapSeconds,
} from '../system.ts'
import { isExact } from '../tables/exact-numbers.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_I'>
type Http = Asking['http']

const name = 'SORMAS'
const root = 'sormas-rest'
const pageSize = 1_000
const mostAtOnce = 64_000
const mostTried = 10
/** What stands for the record before the first one. */
const none = 'NO_LAST_SYNCED_UUID'
/** A moment behind all records, so that asking for what was changed since brings none. */
const never = 9_999_999_999_999

/** What the places of an outbreak are found by. */
const places: Readonly<Record<string, string>> = {
  regions: 'regions/all/0',
  districts: 'districts/all/0',
  communities: 'communities/all/0',
  facilities: 'facilities/general/0',
  'points-of-entry': 'pointsofentry/all/0',
}

/** SORMAS: cases, contacts and whatever else is watched in an outbreak, a table for each. */
export const sormas: System<Settings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => Date.parse(moment),

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    without: [root, 'sormas-ui'],
    headers: {
      authorization: basicAuthorization(username, demandSecret(secrets, 'password', 'the password of the account')),
    },
  }),

  async test({ http, settings: { entities } }) {
    for (const entity of entities.slice(0, mostTried)) await pageOf(http, entity, { since: never, size: 1, last: none })
  },

  lookup(kind, { http }) {
    const path = Object.hasOwn(places, kind) ? places[kind] : undefined
    return path === undefined ? undefined : choices(http, path)
  },

  async streams({ http, settings: { entities, startDate } }) {
    const first = startDate === undefined ? 0 : Date.parse(startDate)
    return entities.map(
      (entity): Stream => ({
        name: entity.toLowerCase(),
        key: ['uuid'],
        columns,
        // Moments come as numbers, and are texts when they are given on.
        textsMayBeAnything: true,
        pages: (cursor) => changedSince(http, entity, typeof cursor === 'number' ? cursor : first),
      }),
    )
  },
}

/** In the order of their changes: each page begins behind the last record of the page before. */
async function* changedSince(http: Http, entity: string, first: number): AsyncGenerator<Page, void, void> {
  let [since, last, size] = [first, none, pageSize]
  let most = mostAtOnce
  let latest: number | undefined
  for (;;) {
    const records = await pageOf(http, entity, { since, size, last })
    if (records === 'TOO_LARGE') {
      most = size - 1
      size = Math.ceil(size / 4)
      continue
    }
    for (const record of records) {
      const changed = millisecondsOf((record as { changeDate?: unknown } | null)?.changeDate)
      if (changed !== undefined && changed > (latest ?? -Infinity)) latest = changed
    }
    const over = records.length < size
    // A later reading takes some minutes of what was there again.
    const until = latest === undefined ? undefined : Math.min(latest, Math.floor(http.began()))
    const cursor = over && until !== undefined ? Math.max(first, until - overlapSeconds * 1000) : undefined
    yield { records: records.map(shaped), ...(cursor !== undefined && { cursor }) }
    if (over) return
    const { uuid, changeDate } = fieldsOf(records.at(-1), name)
    const [next, from] = [textOf(uuid), millisecondsOf(changeDate)]
    if (next === undefined || from === undefined || (next === last && from === since))
      throw strange(name, 'a uuid and a changeDate that go on')
    if (from < since) {
      // Their order is that of their own changes, and parts of them were changed later: all of those have to come at once.
      if (2 * size > most) throw strange(name, 'records in the order of their changes')
      size *= 2
      continue
    }
    ;[last, since] = [next, from]
  }
}

async function pageOf(
  http: Http,
  entity: string,
  { since, size, last }: { since: number; size: number; last: string },
): Promise<readonly unknown[] | 'TOO_LARGE'> {
  const path = entity.toLowerCase().replaceAll('_', '')
  const what = `What is called ${entity.toLowerCase().replaceAll('_', ' ')}`
  try {
    return listIn(await http.json(`${root}/${path}/all/${since}/${size}/${encodeURIComponent(last)}`, { what }), name)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ANSWER_TOO_LARGE' && size > 1) return 'TOO_LARGE'
    throw error
  }
}

/** By name. */
async function choices(http: Http, path: string): Promise<Choice[]> {
  const found = listIn(await http.json(`${root}/${path}`), name).flatMap((one): Choice[] => {
    const { uuid, externalID: external, epidCode, name: called } = fieldsOf(one, name)
    const id = textOf(uuid)
    return id === undefined
      ? []
      : [{ id, code: textOf(external) ?? textOf(epidCode) ?? id, name: textOf(called) ?? id }]
  })
  return found.toSorted((one, other) => one.name.localeCompare(other.name))
}

/** What all records have, and codes that are texts whatever they look like. */
const columns: KnownColumn[] = [
  { path: 'uuid', dataType: 'TEXT' },
  { path: 'creationDate', dataType: 'TIMESTAMPTZ' },
  { path: 'changeDate', dataType: 'TIMESTAMPTZ' },
  ...['externalID', 'externalToken', 'internalToken', 'epidNumber', 'caseIdExternalSystem', 'labSampleID'].map(
    (path): KnownColumn => ({ path, dataType: 'TEXT' }),
  ),
]

/** Milliseconds of 1973 and 2100: no count of an outbreak gets there. */
const [earliest, latest] = [100_000_000_000, 4_102_444_800_000]

/** Moments are milliseconds on the wire, though the description of the API says that they are texts; either is read. */
function millisecondsOf(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isFinite(time) ? time : undefined
}

/** A record whose moments are written as such, wherever they are. */
function shaped(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(shaped)
  if (typeof record !== 'object' || record === null || isExact(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, valueOf(key, value)]))
}

function valueOf(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return shaped(value)
  const moment = value >= earliest && value < latest
  const early = /date(time)?$/i.test(key) && Math.abs(value) >= 100_000 && value < latest
  return Number.isInteger(value) && (moment || early) ? new Date(value).toISOString() : value
}
