import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const username = 'reader@example.org'
const password = 'a password: ä"'
const structure = 'http://ihris.org/fhir/StructureDefinition'

/** Answers as iHRIS 5 does: sessions, and FHIR whose links to next pages name the store that is behind it. */
export async function startIhris() {
  const people = new People()
  const sessions = new Set<string>()
  const server = await startStandInServer(answer)

  function answer({ method, path, query, headers, body }: StandInRequest): StandInResponse {
    if (path === '/hris/auth/token' && method === 'POST') {
      const given = JSON.parse(body) as { email?: unknown; password?: unknown }
      if (given.email !== username || given.password !== password) return outcome(401, 'Unauthorized')
      const token = `session-${sessions.size + 1}`
      sessions.add(token)
      return { body: { access_token: token } }
    }
    if (!sessions.has((headers.authorization ?? '').replace('Bearer ', ''))) return outcome(401, 'Unauthorized')
    const [, , , type, id] = path.split('/')
    if (type === 'Location') return bundle('Location', locations(query), query)
    if (type === 'Basic' && id === undefined) return bundle('Basic', [report], query)
    if (type === 'Basic' && id === report.id) return { body: report }
    if (type === 'Practitioner') return bundle('Practitioner', people.page().map(practitioner), query)
    if (type === 'PractitionerRole') return bundle('PractitionerRole', roles(query), query)
    return outcome(404, 'There is none of this.')
  }

  function locations(query: URLSearchParams): object[] {
    const ids = query.get('_id')?.split(',')
    const since = query.get('_lastUpdated')?.slice(2)
    const skip = Number(query.get('_getpagesoffset') ?? 0)
    if (people.generated > 0) return people.page({ skip, limit: 201 }).map(location)
    const wanted = ({ id, changedAt }: Person) =>
      ids ? ids.includes(String(id)) : !since || Date.parse(`${formatTime(changedAt)}Z`) >= Date.parse(since)
    const found = people.page({ wanted }).toSorted((one, other) => one.changedAt - other.changedAt)
    return found.slice(skip).map(location)
  }

  function roles(query: URLSearchParams): object[] {
    const wanted = query.get('practitioner')?.split(',') ?? []
    return people
      .page()
      .filter(({ id }) => wanted.includes(`Practitioner/${id}`))
      .flatMap((person) => [role(person, 'old'), role(person, 'new')])
  }

  function bundle(type: string, found: object[], query: URLSearchParams): StandInResponse {
    const limit = Math.min(Number(query.get('_count') ?? 20), 200, people.pageSize)
    const offset = Number(query.get('_getpagesoffset') ?? 0) + limit
    const next = `http://store.internal:8080/fhir?_getpages=abc&_getpagesoffset=${offset}&_count=${limit}`
    const link = found.length > limit ? [{ relation: 'next', url: next }] : []
    const entry = found.slice(0, limit).map((resource) => ({ resource: { resourceType: type, ...resource } }))
    return { body: { resourceType: 'Bundle', type: 'searchset', link, entry } }
  }

  return {
    server,
    people,
    settings: {
      type: 'SOURCE_SYSTEM_D',
      apiSource: { url: `${server.url}/hris/`, username },
      resourceTypes: ['Location'],
    },
    secrets: { password },
    isPageRequest: ({ path }: StandInRequest) => path === '/hris/fhir/Location',
  }
}

const outcome = (status: number, diagnostics: string): StandInResponse => ({
  status,
  body: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', diagnostics }] },
})

const location = ({ id, name, extra, children = [], changedAt, isUnstorable }: Person) => ({
  id: String(id),
  meta: { lastUpdated: `${formatTime(changedAt)}+00:00` },
  name: isUnstorable ? `\u0000${name}` : name,
  ...(extra !== undefined && { description: String(extra) }),
  ...(children.length > 0 && { telecom: children.map((value) => ({ value })) }),
})

const practitioner = ({ id, name, children = [], extra }: Person) => ({
  id: String(id),
  active: extra !== 'left',
  name: [
    { use: 'usual', family: 'Nick' },
    { use: 'official', family: name, given: children },
  ],
  extension: [{ url: `${structure}/ihris-practitioner-nationality`, valueCoding: { code: 'KE', display: 'Kenya' } }],
  identifier: [{ type: { coding: [{ code: 'Passport' }] }, value: `00${id}` }, { value: 'none of these' }],
})

const role = ({ id }: Person, which: string) => ({
  id: `${which}-${id}`,
  meta: { lastUpdated: `${formatTime(which === 'new' ? 20 : 10)}+00:00` },
  practitioner: { reference: `Practitioner/${id}` },
  location: [{ reference: `Location/${id}/_history/1` }],
  code: [{ coding: [{ display: `${which} job` }] }],
})

const words = (fields: Record<string, string>) =>
  Object.entries(fields).map(([url, valueString]) => ({ url, valueString }))
const element = (name: string, fhirpath: string, display: string) => ({
  url: `${structure}/iHRISReportElement`,
  extension: words({ name, fhirpath, display }),
})
const nationality = `Practitioner.extension.where(url='${structure}/ihris-practitioner-nationality').valueCoding.display`
const passport = "identifier.where(type.coding.where(code='NationalID' or code='Passport')).value"

/** As the staff report that iHRIS brings along. */
const report = {
  resourceType: 'Basic',
  id: 'ihris-es-report-staff',
  extension: [
    {
      url: `${structure}/iHRISReportDetails`,
      extension: [
        ...words({ name: 'practitioner', label: 'Staff Report', resource: 'Practitioner', query: 'active=true' }),
        element('Id', passport, 'Identifier'),
        element('given', "name.where(use='official').first().given", 'Given name'),
        element('family', "name.where(use='official').family", 'Family name'),
        element('nationality', nationality, 'Citizenship'),
      ],
    },
    {
      url: `${structure}/iHRISReportLink`,
      extension: [
        ...words({ name: 'role', resource: 'PractitionerRole', linkTo: 'practitioner' }),
        ...words({
          linkElement: 'PractitionerRole.practitioner.reference',
          linkElementSearchParameter: 'practitioner',
        }),
        { url: 'multiple', valueBoolean: false },
        element('job', 'code.coding.display', 'Job title'),
      ],
    },
    {
      url: `${structure}/iHRISReportLink`,
      extension: [
        ...words({
          name: 'facility',
          resource: 'Location',
          linkElement: 'Location.id',
          linkTo: 'role.location.reference',
        }),
        { url: 'multiple', valueBoolean: false },
        element('dutyPost', 'name', 'Facility'),
      ],
    },
    {
      url: `${structure}/iHRISReportLink`,
      extension: [
        ...words({ name: 'history', resource: 'PractitionerRole', linkTo: 'practitioner' }),
        ...words({ linkElement: 'PractitionerRole.practitioner.reference' }),
        { url: 'multiple', valueBoolean: true },
        element('job', 'code.coding.display', 'Job title'),
      ],
    },
  ],
}

export const ihris: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_D',
  system: 'iHRIS',
  unsupportedRules: {},
  columns: { id: 'id', name: 'name', extra: 'description' },
  table: '__location',
  group: { table: '__telecom', column: 'value' },
  lookups: { reports: ['ihris-es-report-staff'] },
  start: startIhris,
  account: {
    variables: ['SLUICE_IHRIS_URL', 'SLUICE_IHRIS_USER', 'SLUICE_IHRIS_PASSWORD', 'SLUICE_IHRIS_REPORT'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_D',
      apiSource: { url: values['SLUICE_IHRIS_URL'], username: values['SLUICE_IHRIS_USER'] },
      report: values['SLUICE_IHRIS_REPORT'],
    }),
    secrets: (values) => ({ password: values['SLUICE_IHRIS_PASSWORD']! }),
  },
}
