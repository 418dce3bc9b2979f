import { momentOf, type Person, Population } from '../people.ts'
import type { Scene } from '../connector-fixture.ts'
import { type Answer, type Request, startServer } from '../stand-in-server.ts'

const token = 'a-token-of-the-register'

async function start() {
  const people = new Population()
  const server = await startServer(answer)

  function answer({ path, query, headers }: Request): Answer {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'Unknown token.' } }
    if (path === '/api/me') return { body: { name: 'reader' } }
    if (path === '/api/clinics') return { body: { clinics: [{ code: 'north', name: 'Clinic North' }] } }
    if (path === '/api/clinics/north/visits') return visits(query)
    return { status: 404, body: { error: 'No such thing.' } }
  }

  function visits(query: URLSearchParams): Answer {
    const after = query.get('updatedAfter')
    const [skip, limit] = [Number(query.get('offset')), Number(query.get('limit'))]
    const wanted = ({ changed }: Person) => `${momentOf(changed)}Z` > after!
    const found = people.page({ skip, limit, ...(after !== null && { wanted }) })
    return { body: { visits: found.map(visit) } }
  }

  return {
    server,
    people,
    settings: { apiSource: { url: `${server.url}/api` }, clinic: 'north' },
    secrets: { authToken: token },
    isPage: ({ path }: Request) => path.endsWith('/visits'),
  }
}

const visit = ({ id, name, extra, children = [], changed, bad }: Person): object => ({
  id,
  patient: bad ? `\u0000${name}` : name,
  ...(extra !== undefined && { extra }),
  symptoms: children.map((called) => ({ called })),
  updatedAt: `${momentOf(changed)}Z`,
})

export const clinicRegister: Scene = {
  type: 'CLINIC_REGISTER',
  system: 'Clinic Register',
  without: {},
  columns: { id: 'id', name: 'patient', extra: 'extra' },
  group: { table: '__symptoms', column: 'called' },
  lookups: { clinics: ['north'] },
  start,
}
