import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { Account, ConnectorFixture } from '../../../test/connector-fixture.ts'

export const token = 'd2pat_5xVA12xyUbWNedQxy4ohH77WlxRGVvZZ1151814092'

const stage = 'dBwrot7S420'
const elements = [
  { id: 'qrur9Dvnyt5', code: 'NAME', name: 'Name', valueType: 'TEXT' },
  { id: 'oZg33kd9taw', code: 'AGE', name: 'Age', valueType: 'INTEGER' },
  { id: 'GieVkTxp4HH', code: 'EXTRA', name: 'Extra', valueType: 'NUMBER' },
]

/**
 * Answers as the documentation and sources of DHIS2 say, below /dhis: of 2.38 to 2.40, of 2.41, and from 2.42 on. People are events of one
 * program, data values, and organisation units.
 */
export async function startDhis2(version: string) {
  const release = Number(version.split('.')[1])
  const people = new People()
  const server = await startStandInServer(answer)

  function answer({ path, query, headers }: StandInRequest): StandInResponse {
    const what = path.replace('/dhis/api/', '')
    if (headers.authorization !== `ApiToken ${token}`)
      return { status: 401, body: { httpStatus: 'Unauthorized', httpStatusCode: 401, message: 'Unauthorized' } }
    if (what === 'me')
      return { body: { id: 'xE7jOejl9FI', username: 'reader', organisationUnits: [{ id: 'ImspTQPwCqd' }] } }
    if (what === 'system/info') return { body: { version, serverDate: formatTime(people.clock), calendar: 'iso8601' } }
    if (what === 'programs/lxAQ7Zs9VYR') return { body: program }
    if (what === 'tracker/events') return events(query)
    if (what === 'dataValueSets.csv') return dataValues(query)
    if (what === 'analytics.json') return analytics(query)
    if (what === 'organisationUnits') return paged(what, units(query), query)
    if (what === 'dataElements') return paged(what, elements, query)
    if (what === 'dataSets') return paged(what, [dataSet], query)
    return { status: 404, body: { httpStatus: 'Not Found', httpStatusCode: 404, message: `${what} was not found` } }
  }

  function events(query: URLSearchParams): StandInResponse {
    if (query.has(release < 41 ? 'orgUnitMode' : 'ouMode'))
      return { status: 400, body: { message: 'unknown parameter' } }
    const [page, pageSize] = [Number(query.get('page')), Math.min(Number(query.get('pageSize')), people.pageSize)]
    const after = query.get('updatedAfter')
    const wanted = ({ changedAt }: Person) => after === null || formatTime(changedAt) >= after
    const found = people.page({ skip: (page - 1) * pageSize, limit: pageSize + 1, ...(after && { wanted }) })
    const list = found.slice(0, pageSize).map((person) => event(person, people.deleted.has(person.id)))
    if (release < 41) return { body: { page, pageSize, instances: list } }
    const next = found.length > pageSize ? { nextPage: `${server.url}/dhis/api/tracker/events?page=${page + 1}` } : {}
    return { body: { pager: { page, pageSize, ...next }, ...(release === 41 && { page, pageSize }), events: list } }
  }

  function dataValues(query: URLSearchParams): StandInResponse {
    const one = ['dataSet', 'dataElement'].some((name) => query.has(name)) && query.has('orgUnit')
    if (!one)
      return {
        status: 409,
        body: { httpStatus: 'Conflict', message: 'At least one data set is needed', errorCode: 'E2001' },
      }
    const after = query.get('lastUpdated')
    const all = query.get('includeDeleted') === 'true'
    const found = people.page({
      wanted: ({ id, changedAt }) =>
        (all || !people.deleted.has(id)) && (after === null || formatTime(changedAt) >= after),
    })
    const rows = found.map(({ id, name, extra, changedAt, isUnstorable }) =>
      ['f7n9E0hX8qk', '202601', unitId(id), 'HllvX50cXC0', 'HllvX50cXC0', isUnstorable ? `\0${name}` : name, 'admin']
        .concat(
          `${formatTime(changedAt)}+0000`,
          String(extra ?? 'said "so",\nand more'),
          '',
          String(people.deleted.has(id)),
        )
        .map((field, index) => (index < 9 ? `"${field.replaceAll('"', '""')}"` : field))
        .join(','),
    )
    return { headers: { 'content-type': 'application/csv' }, body: [header, ...rows, ''].join('\n') }
  }

  function units(query: URLSearchParams): object[] {
    const since = query.getAll('filter').find((filter) => filter.startsWith('lastUpdated:ge:'))
    const after = since?.slice('lastUpdated:ge:'.length)
    return people
      .page({ wanted: ({ changedAt }) => after === undefined || formatTime(changedAt) >= after })
      .map(({ id, name, changedAt }) => ({
        id: unitId(id),
        name,
        level: 2,
        path: `/ImspTQPwCqd/${unitId(id)}`,
        geometry: { type: 'Point', coordinates: [-11.42, 8.13] },
        lastUpdated: formatTime(changedAt),
      }))
  }

  function paged(plural: string, all: object[], query: URLSearchParams): StandInResponse {
    const [page, pageSize] = [Number(query.get('page')), Number(query.get('pageSize'))]
    const list = all.slice((page - 1) * pageSize, page * pageSize)
    const more = page * pageSize < all.length ? { nextPage: `${server.url}/dhis/api/${plural}?page=${page + 1}` } : {}
    return { body: { pager: { page, pageSize, total: all.length, ...more }, [plural]: list } }
  }

  function remove(id: number, at: number): void {
    people.deleted.add(id)
    people.put({ id }, at)
  }

  return { server, people, remove, secrets: { authToken: token }, apiSource: { url: `${server.url}/dhis/api/` } }
}

/** The header of all versions. */
const header =
  '"dataelement","period","orgunit","categoryoptioncombo","attributeoptioncombo","value","storedby","lastupdated","comment","followup","deleted"'

export const unitId = (id: number): string => `Unit${String(id).padStart(7, '0')}`

const dataSet = {
  id: 'BfMAe6Itzgt',
  name: 'Child health',
  dataSetElements: elements.map(({ id }) => ({ dataElement: { id } })),
}

const program = {
  id: 'lxAQ7Zs9VYR',
  programStages: [
    { id: stage, name: 'Visit', programStageDataElements: elements.map((dataElement) => ({ dataElement })) },
  ],
}

function event(
  { id, name, extra, children = [], createdAt, changedAt, isUnstorable }: Person,
  deleted: boolean,
): object {
  const value = (index: number, text: string) => ({
    dataElement: elements[index]!.id,
    value: text,
    providedElsewhere: false,
  })
  return {
    event: `Event${String(id).padStart(6, '0')}`,
    status: 'COMPLETED',
    program: 'lxAQ7Zs9VYR',
    programStage: stage,
    orgUnit: 'DiszpKrYNg8',
    occurredAt: '2026-02-27T00:00:00.000',
    createdAt: formatTime(createdAt),
    updatedAt: formatTime(changedAt),
    deleted,
    geometry: { type: 'Point', coordinates: [-11.42, 8.13] },
    dataValues: [
      value(0, isUnstorable ? `\u0000${name}` : name),
      value(1, String(id % 90)),
      ...(extra === undefined ? [] : [value(2, String(extra))]),
    ],
    notes: children.map((text, index) => ({ note: `note${index}`, value: text })),
  }
}

const grid = ['dx', 'pe', 'ou'].map((name) => ({ name, valueType: 'TEXT' }))
const maxRows = 4

/** A grid of every combination, unless they are more than an answer may have. */
function analytics(query: URLSearchParams): StandInResponse {
  const dimensions = new Map(
    query.getAll('dimension').map((one) => one.split(/:(.*)/s).slice(0, 2) as [string, string]),
  )
  const [data, periods, units] = ['dx', 'pe', 'ou'].map((name) => dimensions.get(name)!.split(';')) as [
    string[],
    string[],
    string[],
  ]
  const rows = data.flatMap((dx) => periods.flatMap((pe) => units.map((ou) => [dx, pe, ou, '3410.50'])))
  if (rows.length > maxRows)
    return {
      status: 409,
      body: { httpStatus: 'Conflict', message: `Query result set exceeds max limit`, errorCode: 'E7128' },
    }
  const items = Object.fromEntries([...data, ...units].map((id) => [id, { name: `Name of ${id}` }]))
  return {
    body: {
      headers: [...grid, { name: 'value', valueType: 'NUMBER' }],
      metaData: { items },
      rows,
      height: rows.length,
    },
  }
}

const lookups = { 'data-elements': ['qrur9Dvnyt5', 'oZg33kd9taw', 'GieVkTxp4HH'], 'data-sets': ['BfMAe6Itzgt'] }

const secrets: Account['secrets'] = ({ SLUICE_DHIS2_TOKEN: authToken }) => ({ authToken: authToken! })

/** Events of programs, which have most of what a source can have. */
export const dhis2Events = (version: string): ConnectorFixture => ({
  type: 'SOURCE_SYSTEM_C',
  system: `DHIS2 ${version} (events)`,
  unsupportedRules: {},
  columns: { id: 'event', name: 'name', extra: 'extra' },
  deletedColumn: 'deleted',
  table: '__visit',
  group: { table: '__notes', column: 'value' },
  lookups,
  async start() {
    const { apiSource, ...started } = await startDhis2(version)
    return {
      ...started,
      settings: { type: 'SOURCE_SYSTEM_C', apiSource, content: 'EVENTS', programs: ['lxAQ7Zs9VYR'] },
      isPageRequest: ({ path }: StandInRequest) => path.endsWith('/tracker/events'),
    }
  },
  account: {
    variables: ['SLUICE_DHIS2_URL', 'SLUICE_DHIS2_TOKEN', 'SLUICE_DHIS2_PROGRAM'],
    settings: ({ SLUICE_DHIS2_URL: url, SLUICE_DHIS2_PROGRAM: program }) => ({
      type: 'SOURCE_SYSTEM_C',
      apiSource: { url },
      content: 'EVENTS',
      programs: [program],
    }),
    secrets,
  },
})

const same = 'Data values always have the same columns.'

/** Data values, which come as CSV and without pages. */
export const dhis2DataValues: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_C',
  system: 'DHIS2 2.38 (data values)',
  unsupportedRules: {
    groups: 'A data value contains no lists.',
    columnAdded: same,
    columnRetyped: same,
    page: 'The API has no pages of data values: they are asked by data set, period and organisation unit.',
  },
  columns: { id: 'org_unit', name: 'value' },
  deletedColumn: 'deleted',
  lookups,
  async start() {
    const { apiSource, ...started } = await startDhis2('2.38.7')
    const own = { content: 'DATA_VALUES', dataSets: ['BfMAe6Itzgt'], periods: ['202601'] }
    return {
      ...started,
      settings: { type: 'SOURCE_SYSTEM_C', apiSource, ...own },
      isPageRequest: ({ path }: StandInRequest) => path.endsWith('/dataValueSets.csv'),
    }
  },
  account: {
    variables: ['SLUICE_DHIS2_URL', 'SLUICE_DHIS2_TOKEN', 'SLUICE_DHIS2_DATA_SET', 'SLUICE_DHIS2_PERIOD'],
    settings: ({ SLUICE_DHIS2_URL: url, SLUICE_DHIS2_DATA_SET: dataSet, SLUICE_DHIS2_PERIOD: period }) => ({
      type: 'SOURCE_SYSTEM_C',
      apiSource: { url },
      content: 'DATA_VALUES',
      dataSets: [dataSet],
      periods: [period],
    }),
    secrets,
  },
}
