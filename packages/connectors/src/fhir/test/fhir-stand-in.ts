import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const token = 'a-bearer-token-of-the-server-0123456789'
const base = '/hapi/fhir'

/** Answers as servers of FHIR R4 do that keep the pages of a search: the link to the next page names the search, not the type. */
async function start() {
  const people = new People()
  const server = await startStandInServer((request) => {
    const answer = of(request)
    return { ...answer, headers: { 'content-type': 'application/fhir+json;charset=UTF-8' } }
  })
  const searches: URLSearchParams[] = []

  function of({ path, query, headers }: StandInRequest): StandInResponse {
    // Everybody may ask what a server can do.
    if (path === `${base}/metadata`) return { body: statement }
    if (headers.authorization !== `Bearer ${token}`) return refused(401, 'The token is not known here.')
    if (path === `${base}/Organization`) return page(searches.push(query) - 1, 0)
    const search = query.get('_getpages')
    if (path === base && search !== null) return page(Number(search), Number(query.get('_getpagesoffset')))
    return refused(404, `Unknown resource type at ${path}`)
  }

  function page(search: number, skip: number): StandInResponse {
    const asked = searches[search]!
    const limit = Math.min(Number(asked.get('_count') ?? 20), 500, people.pageSize)
    const since = asked.getAll('_lastUpdated').map((one) => one.replace(/^ge/, ''))
    const wanted = ({ changedAt }: Person) =>
      since.every((from) => Date.parse(`${formatTime(changedAt)}Z`) >= Date.parse(from))
    const all = () => people.page({ wanted }).toSorted((one, other) => one.changedAt - other.changedAt)
    const found = people.generated > 0 ? people.page({ skip, limit: limit + 1 }) : all().slice(skip, skip + limit + 1)
    const next = `${server.url}${base}?_getpages=${search}&_getpagesoffset=${skip + limit}&_count=${limit}`
    const link = [{ relation: 'self', url: `${server.url}${base}/Organization?${asked}` }]
    if (found.length > limit) link.push({ relation: 'next', url: next })
    const matches = found.slice(0, limit).map((one) => ({ resource: resource(one), search: { mode: 'match' } }))
    const entry = [...matches, { resource: outcome('A hint.'), search: { mode: 'outcome' } }]
    return { body: { resourceType: 'Bundle', type: 'searchset', link, entry } }
  }

  return {
    server,
    people,
    settings: { type: 'FHIR', apiSource: { url: `${server.url}${base}/` }, resourceTypes: ['Organization'] },
    secrets: { authToken: token },
    isPageRequest: ({ path, query }: StandInRequest) => path.endsWith('/Organization') || query.has('_getpages'),
  }
}

const outcome = (diagnostics: string) => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code: 'processing', diagnostics }],
})
const refused = (status: number, diagnostics: string): StandInResponse => ({ status, body: outcome(diagnostics) })

const statement = {
  resourceType: 'CapabilityStatement',
  fhirVersion: '4.0.1',
  rest: [{ mode: 'server', resource: [{ type: 'Patient' }, { type: 'Organization' }] }],
}

function resource({ id, name, extra, children = [], changedAt, isUnstorable }: Person): object {
  return {
    resourceType: 'Organization',
    id: String(id),
    meta: { versionId: '1', lastUpdated: `${formatTime(changedAt)}+00:00` },
    extension: [{ url: 'http://example.org/level', valueInteger: id }],
    identifier: [{ system: 'http://example.org/codes', value: `000${id}` }],
    active: true,
    name: isUnstorable ? `\u0000${name}` : name,
    ...(extra !== undefined && { language: String(extra) }),
    ...(children.length > 0 && { contact: children.map((called) => ({ name: { text: called } })) }),
  }
}

export const fhir: ConnectorFixture = {
  type: 'FHIR',
  system: 'FHIR',
  unsupportedRules: {},
  columns: { id: 'id', name: 'name', extra: 'language' },
  table: '__organization',
  group: { table: '__contact', column: 'name_text' },
  lookups: { 'resource-types': ['Organization', 'Patient'] },
  start,
  account: {
    variables: ['SLUICE_FHIR_URL', 'SLUICE_FHIR_TOKEN', 'SLUICE_FHIR_TYPE'],
    settings: (values) => ({
      type: 'FHIR',
      apiSource: { url: values['SLUICE_FHIR_URL'] },
      resourceTypes: [values['SLUICE_FHIR_TYPE']],
    }),
    secrets: (values) => ({ authToken: values['SLUICE_FHIR_TOKEN']! }),
  },
}
