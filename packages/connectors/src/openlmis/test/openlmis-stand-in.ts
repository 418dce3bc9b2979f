import { everyPerson, formatTime, type Person, People } from '../../../test/sample-records.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const token = '4b1e3cde-83a7-4d05-a6c4-2a6dfc9a9c1f'
/** The first one has everything, the second nothing. */
export const facilities = ['e6799d64-d10d-4011-b8c2-0e4d4a3f65ce', '176c4276-1fb1-4507-8ad2-cdfba0f47445']

/** Answers as OpenLMIS 3 does, of two facilities. */
export async function startOpenLmis() {
  const people = new People()
  const server = await startStandInServer(answer)

  function answer({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { error: 'invalid_token', error_description: 'Invalid access token' } }
    const [, api, list, id] = path.split('/')
    if (api !== 'api') return lost
    if (list === 'facilities' && id === undefined)
      return spring(known.length, query, (skip, limit) => known.slice(skip, skip + limit))
    if (list === 'facilities') return facilities.includes(id!) ? { body: known[0] } : lost
    if (list !== 'requisitions') return lost
    if (id === 'search') return search(query)
    const [found] = people.page({ from: Number(id!.slice(-12)), limit: 1 })
    return found && uuid(found.id) === id ? { body: requisition(found) } : lost
  }

  function search(query: URLSearchParams): StandInResponse {
    const allowed = ['facility', 'initiatedDateFrom', 'initiatedDateTo', 'modifiedDateFrom', 'page', 'size', 'sort']
    const odd = [...query.keys()].find((key) => !allowed.includes(key))
    const since = query.get('modifiedDateFrom')
    const invalid =
      odd ?? (since !== null && !/T[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(since) ? 'modifiedDateFrom' : undefined)
    if (invalid !== undefined)
      return { status: 400, body: { messageKey: 'requisition.error.search.invalid', message: `Invalid ${invalid}` } }
    if (query.get('facility') !== facilities[0]) return spring(0, query, () => [])
    const wanted =
      since === null
        ? everyPerson
        : ({ changedAt }: Person) => Date.parse(`${formatTime(changedAt)}Z`) >= Date.parse(since)
    const total = since === null ? people.size : people.page({ wanted }).length
    return spring(total, query, (skip, limit) =>
      people.page({ skip, limit, wanted }).map(({ id }) => ({ id: uuid(id), emergency: false, status: 'RELEASED' })),
    )
  }

  return {
    server,
    people,
    settings: {
      type: 'SOURCE_SYSTEM_H',
      apiSource: { url: `${server.url}/api` },
      facilities,
      startDate: '2026-01-01',
      endDate: '2026-12-31',
    },
    secrets: { authToken: token },
    isPageRequest: ({ path }: StandInRequest) => path.endsWith('/requisitions/search'),
  }
}

const lost: StandInResponse = {
  status: 404,
  body: { messageKey: 'error.notFound', message: 'There is none of this id.' },
}
const known = facilities.map((id, index) => ({ id, code: `00${index + 1}`, name: `Clinic ${index + 1}`, active: true }))

/** Pages from 0 on. */
function spring(total: number, query: URLSearchParams, of: (skip: number, limit: number) => object[]): StandInResponse {
  const [number, size] = [Number(query.get('page') ?? 0), Math.min(Number(query.get('size') ?? 20), 2_000)]
  const content = of(number * size, size)
  const totalPages = Math.ceil(total / size)
  const last = number + 1 >= totalPages
  return { body: { content, number, size, totalPages, totalElements: total, last, first: number === 0 } }
}

const uuid = (id: number): string => `30bf9b44-95a4-4a3c-9e6c-${String(id).padStart(12, '0')}`

function requisition({ id, name, extra, children = [], createdAt, changedAt, isUnstorable }: Person): object {
  const products = [{ id: 'p', productCode: 'C100' }]
  return {
    id: uuid(id),
    createdDate: `${formatTime(createdAt)}Z`,
    modifiedDate: `${formatTime(changedAt)}Z`,
    draftStatusMessage: isUnstorable ? `\u0000${name}` : name,
    status: 'RELEASED',
    emergency: false,
    facility: { ...known[0], geographicZone: { id: 'z', name: 'Zone' }, supportedPrograms: [{ id: 'p1' }] },
    program: { id: 'p1', code: '01', name: 'Family planning' },
    processingPeriod: { id: 'q', name: 'Jan2026', startDate: '2026-01-01', endDate: '2026-01-31' },
    statusChanges: { SUBMITTED: { authorId: 'a', changeDate: `${formatTime(createdAt)}Z` } },
    template: { columnsMap: { total: { name: 'total' } } },
    availableProducts: products,
    extraData: extra === undefined ? {} : { extra },
    requisitionLineItems: children.map((remarks, index) => ({
      id: `line-${id}-${index}`,
      orderable: { id: 'p', productCode: '0100', fullProductName: 'Levora', programs: [{ programId: 'p1' }] },
      beginningBalance: 10,
      pricePerPack: 4.5,
      remarks,
      stockAdjustments: [{ id: 's', reasonId: 'r', quantity: 2 }],
    })),
  }
}

export const openlmis: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_H',
  system: 'OpenLMIS',
  unsupportedRules: {
    large: 'Each requisition is one request, and only four are in memory.',
  },
  columns: { id: 'id', name: 'draft_status_message', extra: 'extra_data_extra' },
  group: { table: '__requisition_line_items', column: 'remarks' },
  lookups: { facilities },
  start: startOpenLmis,
  account: {
    variables: ['SLUICE_OPENLMIS_URL', 'SLUICE_OPENLMIS_TOKEN', 'SLUICE_OPENLMIS_FACILITY', 'SLUICE_OPENLMIS_FROM'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_H',
      apiSource: { url: values['SLUICE_OPENLMIS_URL'] },
      facilities: [values['SLUICE_OPENLMIS_FACILITY']],
      startDate: values['SLUICE_OPENLMIS_FROM'],
      endDate: new Date().toISOString().slice(0, 10),
    }),
    secrets: (values) => ({ authToken: values['SLUICE_OPENLMIS_TOKEN']! }),
  },
}
