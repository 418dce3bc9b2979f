import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'

const user = 'reader'
const password = 'a-passphrase-of-cht'

/** Answers as the Community Health Toolkit does in front of its CouchDB. People are contacts; who has a child has a report, too. */
export async function startCht() {
  const people = new People()
  /** What was deleted, and when. */
  const deleted = new Map<number, number>()
  const server = await startStandInServer(answer)

  function answer({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`)
      return { status: 401, body: { error: 'unauthorized', reason: 'Name or password is incorrect.' } }
    if (path === '/medic') return { body: { db_name: 'medic', update_seq: '12-g1AAAA', doc_count: people.size } }
    if (path === '/api/v1/forms')
      return { body: ['pregnancy.xml', 'delivery.xml', 'contact:person:create.xml', 'contact:clinic:edit.xml'] }
    if (path === '/medic/_changes') return changes(query)
    return { status: 404, body: { code: 404, error: 'Not found' } }
  }

  function changes(query: URLSearchParams): StandInResponse {
    const [limit, since] = [
      Math.min(Number(query.get('limit')), people.pageSize),
      Number((query.get('since') ?? '0').split('-')[0]),
    ]
    const found = feed(people, deleted, { since, limit: limit + 1 })
    const results = found.slice(0, limit)
    const last = results.at(-1)?.seq ?? query.get('since')
    return { body: { results, last_seq: last, pending: found.length > limit ? 1 : 0 } }
  }

  return { server, people, deleted, username: user, secrets: { password } }
}

const step = 1_000_000
const placeOf = (seconds: number, id: number): number => seconds * step + id
const spelled = (place: number): string => `${place}-g1AAAACTeJzLYWBgYM5gTmHgzcvPy09JdcjLz8gvLskBCScyJNX`

interface Change {
  seq: string
  id: string
  changes: { rev: string }[]
  deleted?: true
  doc: object
}

/** In the order of changes; each document once. Of a crowd, that is the order of ids. */
function feed(
  people: People,
  deleted: ReadonlyMap<number, number>,
  { since, limit }: { since: number; limit: number },
): Change[] {
  const at = ({ id, changedAt }: Person) => placeOf(deleted.get(id) ?? changedAt, id)
  const found =
    people.generated > 0
      ? people.page({ from: Math.floor(since / step), limit, wanted: (person) => at(person) > since })
      : people.page({ wanted: (person) => at(person) > since }).toSorted((one, other) => at(one) - at(other))
  const docs = found.flatMap((person): Change[] => {
    const seq = spelled(at(person))
    const id = `person-${String(person.id).padStart(8, '0')}`
    const change = (key: string, doc: object) => ({
      seq,
      id: key,
      changes: [{ rev: '1-a' }],
      doc: { _id: key, ...doc },
    })
    if (deleted.has(person.id)) return [{ ...change(id, { _rev: '2-b', _deleted: true }), deleted: true }]
    const own = [change(id, contact(person))]
    if (person.id === 1)
      own.push(change('_design/medic', { views: {} }), change('report-1', report), change('task~1', { type: 'task' }))
    return own
  })
  return docs.slice(0, limit)
}

function contact({ id, name, extra, children = [], createdAt, isUnstorable }: Person): object {
  return {
    _rev: '1-a',
    type: 'contact',
    contact_type: 'c62_person',
    name: isUnstorable ? `\u0000${name}` : name,
    date_of_birth: '1990-01-31',
    phone: '+254700000000',
    patient_id: `0${id}`,
    notes: '',
    ...(extra !== undefined && { extra }),
    ...(children.length > 0 && { children: children.map((called) => ({ called })) }),
    parent: { _id: 'clinic-1', parent: { _id: 'center-1' } },
    reported_date: Date.parse(`${formatTime(createdAt)}Z`),
  }
}

const report = {
  _rev: '1-a',
  type: 'data_record',
  form: 'pregnancy',
  reported_date: Date.parse('2026-01-01T10:00:00Z'),
  contact: { _id: 'chw1', parent: { _id: 'area1' } },
  from: '+254711111111',
  fields: { patient_id: '01', lmp: { date: '2025-11-02' }, signs: [{ sign: 'fever' }], inputs: { source: 'user' } },
  geolocation: { latitude: -1.3, longitude: 36.8, accuracy: 12 },
  hidden_fields: ['inputs'],
}

/** With what is not of every source: whom to delete. */
export async function standIn(own: object = {}) {
  const { username, ...started } = await startCht()
  const apiSource = { url: `${started.server.url}/medic/`, username }
  return {
    ...started,
    remove: (id: number, at: number) => void started.deleted.set(id, at),
    settings: { type: 'SOURCE_SYSTEM_F', apiSource, ...own },
    isPageRequest: ({ path }: { path: string }) => path.endsWith('/_changes'),
  }
}

export const communityHealthToolkit: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_F',
  system: 'the Community Health Toolkit',
  unsupportedRules: {},
  columns: { id: '_root_row_id', name: 'name', extra: 'extra' },
  deletedColumn: 'deleted',
  table: '__contact_c62_person',
  group: { table: '__children', column: 'called' },
  lookups: { forms: ['delivery', 'pregnancy'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_CHT_URL', 'SLUICE_CHT_USER', 'SLUICE_CHT_PASSWORD'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_F',
      apiSource: { url: values['SLUICE_CHT_URL'], username: values['SLUICE_CHT_USER'] },
    }),
    secrets: (values) => ({ password: values['SLUICE_CHT_PASSWORD']! }),
  },
}
