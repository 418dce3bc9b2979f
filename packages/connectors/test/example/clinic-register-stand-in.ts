import { formatTime, type Person, People } from '../sample-records.ts'
import type { ConnectorFixture } from '../connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../stand-in-server.ts'

const token = 'a-token-of-the-register'

async function start() {
  const people = new People()
  const server = await startStandInServer(response)

  function response({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'Unknown token.' } }
    if (path === '/api/me') return { body: { name: 'reader' } }
    if (path === '/api/clinics') return { body: { clinics: [{ code: 'north', name: 'Clinic North' }] } }
    if (path === '/api/clinics/north/visits') return visits(query)
    return { status: 404, body: { error: 'No such thing.' } }
  }

  function visits(query: URLSearchParams): StandInResponse {
    const after = query.get('updatedAfter')
    const [skip, limit] = [Number(query.get('offset')), Number(query.get('limit'))]
    const wanted = ({ changedAt }: Person) => `${formatTime(changedAt)}Z` > after!
    const found = people.page({ skip, limit, ...(after !== null && { wanted }) })
    return { body: { visits: found.map(visit) } }
  }

  return {
    server,
    people,
    settings: { apiSource: { url: `${server.url}/api` }, clinic: 'north' },
    secrets: { authToken: token },
    isPageRequest: ({ path }: StandInRequest) => path.endsWith('/visits'),
  }
}

const visit = ({ id, name, extra, children = [], changedAt, isUnstorable }: Person): object => ({
  id,
  patient: isUnstorable ? `\u0000${name}` : name,
  ...(extra !== undefined && { extra }),
  symptoms: children.map((called) => ({ called })),
  updatedAt: `${formatTime(changedAt)}Z`,
})

export const clinicRegister: ConnectorFixture = {
  type: 'CLINIC_REGISTER',
  system: 'Clinic Register',
  unsupportedRules: {},
  columns: { id: 'id', name: 'patient', extra: 'extra' },
  group: { table: '__symptoms', column: 'called' },
  lookups: { clinics: ['north'] },
  start,
}
