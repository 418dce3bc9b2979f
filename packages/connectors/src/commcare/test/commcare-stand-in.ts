import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { Account, ConnectorFixture } from '../../../test/connector-fixture.ts'

const user = 'reader@example.org'
const key = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
export const visit = 'http://openrosa.org/formdesigner/5C9B-visit'
const a = '/a/demo-project/api'

/** Answers as CommCare HQ's API does, of one project space. People are submissions of one form, and cases of one type. */
export async function startCommcare() {
  const people = new People()
  /** Submissions that were archived. */
  const archived = new Set<number>()
  const server = await startStandInServer(answer)

  function answer({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `ApiKey ${user}:${key}`) return { status: 401, body: '' }
    if (path === '/api/user_domains/v1/') return listed([{ domain_name: 'demo-project', project_name: 'Demo' }], query)
    if (!path.startsWith(`${a}/`)) return { status: 403, body: { error: 'No access to this project' } }
    if (path === `${a}/application/v1/`) return listed([application, { ...other, modules: [] }, other], query)
    if (path === `${a}/form/v1/`) return forms(query)
    if (path === `${a}/case/v2/`) return cases(query)
    return { status: 404, body: { error: 'Not found' } }
  }

  function forms(query: URLSearchParams): StandInResponse {
    if (query.get('order_by') !== 'indexed_on') return { status: 400, body: { error: 'No matching field' } }
    const asked = Math.min(Number(query.get('limit') ?? 20), 1_000)
    const [limit, offset] = [Math.min(asked, people.pageSize), Number(query.get('offset') ?? 0)]
    const start = query.get('indexed_on_start')
    const taken = ({ id }: Person) => query.get('include_archived') === 'true' || !archived.has(id)
    const found = inOrder(people, { start, limit: offset + limit + 1, taken }).slice(offset)
    const more = query.get('xmlns') === visit && found.length > limit
    const objects = query.get('xmlns') === visit ? found.slice(0, limit).map((one) => submission(one, archived)) : []
    const next = more ? `?limit=${limit}&offset=${offset + limit}` : null
    return { body: { meta: { limit, next, offset, previous: null, total_count: people.size }, objects } }
  }

  /** A link holds the question and where it is, and nothing beside it counts. */
  function cases(given: URLSearchParams): StandInResponse {
    const cursor = given.get('cursor')
    const query = cursor === null ? given : new URLSearchParams(Buffer.from(cursor, 'base64').toString())
    const limit = Math.min(Number(query.get('limit') ?? 20), 5_000, people.pageSize)
    const start = query.get('indexed_on.gte')
    const after = query.get('after') ?? ''
    const found = inOrder(people, { start, limit: limit + 1, taken: (person) => placeOf(person) > after })
    const list = query.get('case_type') === 'pregnancy' ? found.slice(0, limit) : []
    const token = Buffer.from(
      `${new URLSearchParams({ ...Object.fromEntries(query), after: list.length > 0 ? placeOf(list.at(-1)!) : '' })}`,
    )
    const next =
      list.length > 0 && found.length > limit
        ? { next: `${server.url}${a}/case/v2/?cursor=${encodeURIComponent(token.toString('base64'))}` }
        : {}
    return { body: { matching_records: people.size, cases: list.map(aCase), ...next } }
  }

  return { server, people, archived, username: user, secrets: { authToken: key } }
}

/** By the moment at which it was taken in, and of one moment by its id. */
const placeOf = (person: Person): string => `${stamp(person)} ${String(person.id).padStart(8, '0')}`

const stamp = ({ changedAt }: Person): string => `${formatTime(changedAt)}000Z`

/** By the moment at which they were taken in. Those of a crowd are in that order by their ids. */
function inOrder(
  people: People,
  { start, limit, taken }: { start: string | null; limit: number; taken: (person: Person) => boolean },
): Person[] {
  const wanted = (person: Person) => (start === null || stamp(person) >= start) && taken(person)
  const from =
    people.generated > 0 && start !== null ? Math.floor((Date.parse(start) - Date.UTC(2026, 0, 1)) / 1000) : 0
  if (people.generated > 0) return people.page({ from, limit, wanted })
  return people
    .page({ wanted })
    .toSorted((one, another) => one.changedAt - another.changedAt || one.id - another.id)
    .slice(0, limit)
}

function listed(all: object[], query: URLSearchParams): StandInResponse {
  const offset = Number(query.get('offset') ?? 0)
  // Two at once at most, so that there is a second page.
  const limit = Math.min(2, Number(query.get('limit') ?? 20))
  const next = offset + limit < all.length ? `?limit=${limit}&offset=${offset + limit}` : null
  return { body: { meta: { limit, next, offset }, objects: all.slice(offset, offset + limit) } }
}

const question = (value: string, tag: string, type: string, repeat = '') => ({ label: value, value, tag, type, repeat })

const application = {
  id: 'app1',
  name: 'Mothers',
  version: 12,
  modules: [
    {
      name: { en: 'Pregnancies' },
      case_type: 'pregnancy',
      forms: [
        {
          xmlns: visit,
          unique_id: 'f1',
          name: { en: 'Visit' },
          questions: [
            question('/data/name', 'input', 'Text'),
            question('/data/visit/weight', 'input', 'Double'),
            question('/data/visit/signs', 'select', 'MSelect'),
            question('/data/visit/code', 'select1', 'Select'),
            question('/data/gps', 'input', 'Geopoint'),
            question('/data/child/called', 'input', 'Text', '/data/child'),
            question('/data/child/toy/kind', 'input', 'Text', '/data/child/toy'),
          ],
        },
      ],
    },
  ],
}

const other = {
  id: 'app2',
  name: 'Stock',
  modules: [
    {
      name: { fra: 'Stock' },
      case_type: 'depot',
      forms: [{ xmlns: 'http://openrosa.org/formdesigner/stock', unique_id: 'f2', name: { fra: 'Inventaire' } }],
    },
  ],
}

/** What came once comes without a list. */
const few = <T>(list: T[]): T | T[] | undefined => (list.length > 1 ? list : list[0])

function submission(person: Person, archived: ReadonlySet<number>): object {
  const { id, name, extra, children = [], createdAt, isUnstorable } = person
  const child = few(children.map((called) => ({ called, toy: called === 'Ann' ? { kind: 'ball' } : '' })))
  return {
    id: `form-${String(id).padStart(8, '0')}`,
    app_id: 'app1',
    domain: 'demo-project',
    archived: archived.has(id),
    received_on: `${formatTime(createdAt)}000Z`,
    server_modified_on: stamp(person),
    indexed_on: stamp(person),
    edited_on: null,
    form: {
      '@name': 'Visit',
      '@version': '12',
      '@uiVersion': '1',
      '@xmlns': visit,
      '#type': 'data',
      name: isUnstorable ? `\u0000${name}` : name,
      visit: { weight: '51.2', signs: 'fever cough', code: '007', note: '' },
      gps: '-1.29 36.82 1650.0 4.5',
      ...(extra !== undefined && { extra: String(extra) }),
      ...(child !== undefined && { child }),
      case: { '@case_id': `case-${id}`, '@date_modified': `${formatTime(createdAt)}Z`, '@user_id': 'u1' },
      meta: { instanceID: `form-${id}`, userID: 'u1', username: 'chw1', timeStart: `${formatTime(createdAt)}+03:00` },
    },
    attachments: { 'form.xml': { content_type: 'text/xml', length: 2130, url: 'https://example.org/form.xml' } },
  }
}

function aCase(person: Person): object {
  const { id, name, createdAt, isUnstorable } = person
  return {
    domain: 'demo-project',
    case_id: `case-${String(id).padStart(8, '0')}`,
    case_type: 'pregnancy',
    case_name: isUnstorable ? `\u0000${name}` : name,
    owner_id: 'u1',
    external_id: '',
    date_opened: `${formatTime(createdAt)}Z`,
    last_modified: stamp(person),
    indexed_on: stamp(person),
    closed: false,
    properties: {
      edd: '2026-08-01',
      risk: 'low',
      number: '007',
      ...(person.extra !== undefined && { extra: String(person.extra) }),
    },
    indices: { parent: { case_id: 'household-1', case_type: 'household', relationship: 'child' } },
  }
}

const lookups = {
  domains: ['demo-project'],
  forms: [visit, 'http://openrosa.org/formdesigner/stock'],
  'case-types': ['depot', 'pregnancy'],
}

/** With what is not of every source: whom to archive. */
export async function standIn(own: object, page: string) {
  const { username, ...started } = await startCommcare()
  const apiSource = { url: `${started.server.url}/a/demo-project/`, username }
  return {
    ...started,
    ...(page.startsWith('/form') && {
      remove(id: number, at: number) {
        started.archived.add(id)
        started.people.put({ id }, at)
      },
    }),
    settings: { type: 'SOURCE_SYSTEM_B', apiSource, domain: 'demo-project', ...own },
    isPageRequest: ({ path }: { path: string }) => path.endsWith(page),
  }
}

const account = (kind: 'forms' | 'caseTypes', variable: string): Account => ({
  variables: ['SLUICE_COMMCARE_URL', 'SLUICE_COMMCARE_USER', 'SLUICE_COMMCARE_KEY', 'SLUICE_COMMCARE_DOMAIN', variable],
  settings: (values) => ({
    type: 'SOURCE_SYSTEM_B',
    apiSource: { url: values['SLUICE_COMMCARE_URL'], username: values['SLUICE_COMMCARE_USER'] },
    domain: values['SLUICE_COMMCARE_DOMAIN'],
    [kind]: [values[variable]],
  }),
  secrets: (values) => ({ authToken: values['SLUICE_COMMCARE_KEY']! }),
})

export const commcareForms: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_B',
  system: 'CommCare (forms)',
  unsupportedRules: {},
  columns: { id: 'id', name: 'form_name', extra: 'form_extra' },
  deletedColumn: 'archived',
  table: '__form_visit',
  group: { table: '__form_child', column: 'called' },
  lookups,
  start: () => standIn({ forms: [visit] }, '/form/v1/'),
  account: account('forms', 'SLUICE_COMMCARE_XMLNS'),
}

export const commcareCases: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_B',
  system: 'CommCare (cases)',
  unsupportedRules: { groups: 'A case contains no lists.' },
  columns: { id: 'case_id', name: 'case_name', extra: 'properties_extra' },
  table: '__case_pregnancy',
  lookups,
  start: () => standIn({ caseTypes: ['pregnancy'] }, '/case/v2/'),
  account: account('caseTypes', 'SLUICE_COMMCARE_CASE_TYPE'),
}
