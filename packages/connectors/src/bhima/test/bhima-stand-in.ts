import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'

const user = { username: 'reader', password: 'a-passphrase-of-bhima', project: 1 }

/** Answers like BHIMA with two projects. People are patients of the first; those with children have visits. */
export async function startBhima() {
  const people = new People()
  let sessions = 0
  const server = await startStandInServer(answer)

  function answer({ method, path, query, headers, body }: StandInRequest): StandInResponse {
    if (method === 'POST' && path === '/auth/login') {
      const given = JSON.parse(body) as typeof user
      if (given.username !== user.username || given.password !== user.password || given.project !== user.project)
        return {
          status: 401,
          body: { status: 401, code: 'ERRORS.UNAUTHORIZED', description: 'Bad username and password combination.' },
        }
      sessions += 1
      return { body: { token: `session-${sessions}`, user: {}, project: projects[0] } }
    }
    const signedIn = headers['x-access-token'] === `session-${sessions}`
    if (path === '/projects')
      return { body: signedIn && query.has('complete') ? projects : projects.map(({ id, name }) => ({ id, name })) }
    if (!signedIn)
      return { status: 401, body: { status: 401, code: 'ERRORS.UNAUTHORIZED', description: 'Not signed in' } }
    if (path === '/patients') return patients(query)
    if (path === '/patients/visits') return { body: people.page().flatMap(visits) }
    if (path === '/stock/lots/movements') return { body: lotMovements.filter(({ date }) => isWithin(date, query)) }
    if (path === '/stock/movements') return { body: movements }
    // Purchased lots alone; and all lots, by the depots that have them.
    if (path === '/stock/lots') return { body: lots.slice(0, 1) }
    if (path === '/stock/lots/depots') return { body: query.get('fullList') === '1' ? lots : lots.slice(0, 2) }
    if (path === '/depots') return { body: [] }
    return { status: 404, body: { status: 404, code: 'ERRORS.NOT_FOUND', description: 'Nothing here' } }
  }

  /** The whole list at once. */
  function patients(query: URLSearchParams): StandInResponse {
    if (query.get('detailed') !== '1' || query.get('project_id') !== '1') return { body: [] }
    const [start, end] = [query.get('custom_period_start') ?? '', query.get('custom_period_end') ?? '9']
    const wanted = ({ createdAt }: Person) => {
      const day = formatTime(createdAt).slice(0, 10)
      return day >= start && day <= end
    }
    return { body: people.page({ wanted }).map(patient) }
  }

  return { server, people, username: user.username, secrets: { password: user.password } }
}

function isWithin(date: string, query: URLSearchParams): boolean {
  const day = date.slice(0, 10)
  return day >= (query.get('dateFrom') ?? '') && day <= (query.get('dateTo') ?? '9')
}

const projects = [
  { id: 1, name: 'Hopital A', abbr: 'HOA', enterprise_id: 1, zs_id: 1, locked: 0 },
  { id: 2, name: 'Hopital B', abbr: 'HOB', enterprise_id: 1, zs_id: 1, locked: 0 },
]

const hex = (id: number): string => `F${id.toString(16).toUpperCase().padStart(31, '0')}`

function patient({ id, name, extra, createdAt, isUnstorable }: Person): object {
  return {
    uuid: hex(id),
    project_id: 1,
    reference: `PA.HOA.${id}`,
    display_name: isUnstorable ? `\u0000${name}` : name,
    sex: 'F',
    dob: '1990-01-01T00:00:00.000Z',
    registration_date: `${formatTime(createdAt)}Z`,
    hospital_no: `0${id}`,
    health_zone: null,
    ...(extra !== undefined && { extra }),
  }
}

/** Of all projects. */
function visits({ id, createdAt, children = [] }: Person): object[] {
  return children.map((_called, index) => ({
    uuid: hex(id * 100 + index),
    patient_uuid: hex(id),
    project_id: index + 1,
    start_date: `${formatTime(createdAt)}Z`,
    end_date: null,
  }))
}

const lots = [
  { uuid: hex(1), label: 'bought', depot_uuid: hex(8) },
  { uuid: hex(1), label: 'bought', depot_uuid: hex(9) },
  { uuid: hex(2), label: 'given', depot_uuid: hex(9) },
]

/** An adjustment that goes up and down, a transfer, and a purchase. */
const movements = [
  { document_uuid: hex(1), is_exit: 0, depot_uuid: hex(8), cost: 5 },
  { document_uuid: hex(1), is_exit: 1, depot_uuid: hex(8), cost: 3 },
  { document_uuid: hex(2), is_exit: 1, depot_uuid: hex(8), cost: 7 },
  { document_uuid: hex(2), is_exit: 0, depot_uuid: hex(9), cost: 7 },
  { document_uuid: hex(3), is_exit: 0, depot_uuid: hex(8), cost: 9 },
].map((movement) => ({ ...movement, date: '2026-01-31T12:00:00.000Z' }))

const lotMovements = ['2026-01-31', '2026-02-01', '2026-02-28', '2026-03-05'].map((day, index) => ({
  uuid: hex(7),
  label: '000123',
  quantity: 10 + index,
  document_uuid: hex(index),
  depot_uuid: hex(9),
  date: `${day}T12:00:00.000Z`,
}))

const none =
  'The API does not report when a record was changed: each run reads all selected days and replaces the rows.'

export async function standIn(own: object = { resources: ['PATIENTS'] }) {
  const { username, ...started } = await startBhima()
  const apiSource = { url: started.server.url, username }
  return {
    ...started,
    settings: { type: 'SOURCE_SYSTEM_A', apiSource, project: '1', ...own },
    isPageRequest: ({ path }: { path: string }) => /^\/(patients|stock)/.test(path),
  }
}

export const bhima: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_A',
  system: 'BHIMA',
  unsupportedRules: {
    increment: none,
    edit: none,
    groups: 'The lists of the API contain no lists.',
    page: 'The API has no pages.',
  },
  columns: { id: 'uuid', name: 'display_name', extra: 'extra' },
  table: '__patients',
  lookups: { projects: ['1', '2'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_BHIMA_URL', 'SLUICE_BHIMA_USER', 'SLUICE_BHIMA_PASSWORD', 'SLUICE_BHIMA_PROJECT'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_A',
      apiSource: { url: values['SLUICE_BHIMA_URL'], username: values['SLUICE_BHIMA_USER'] },
      project: values['SLUICE_BHIMA_PROJECT'],
      resources: ['PATIENTS', 'VISITS', 'INVOICES', 'CASH', 'DEPOTS', 'SERVICES'],
    }),
    secrets: (values) => ({ password: values['SLUICE_BHIMA_PASSWORD']! }),
  },
}
