import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'

const email = 'reader@example.org'
const password = 'a-passphrase-of-central'
const form = '/v1/projects/7/forms/household%20survey'

/** Answers as ODK Central's API does, of project 7 with one form that was published and one that was not. */
export async function startOdk() {
  const people = new People()
  /** Deleted submissions with the time; they can still be requested. */
  const deleted = new Map<number, number>()
  let sessions = 0
  /** Tokens of sessions that were ended. */
  const ended: string[] = []
  const server = await startStandInServer(answer)

  function answer({ method, path, query, headers, body }: StandInRequest): StandInResponse {
    if (method === 'POST' && path === '/v1/sessions') return signIn(JSON.parse(body))
    if (headers.authorization !== `Bearer ${tokenOf(sessions)}` || ended.includes(tokenOf(sessions)))
      return { status: 401, body: { message: 'Could not authenticate with the provided credentials.', code: 401.2 } }
    if (method === 'DELETE' && path === `/v1/sessions/${encodeURIComponent(tokenOf(sessions))}`) {
      ended.push(tokenOf(sessions))
      return { body: { success: true } }
    }
    if (path === '/v1/projects') return { body: projects }
    if (path === '/v1/projects/7/forms') return { body: forms }
    if (path === `${form}/fields`) return { body: fields(people) }
    if (path === `${form}.svc/Submissions`) return submissions(query)
    return { status: 404, body: { message: 'Could not find the resource you were looking for.', code: 404.1 } }
  }

  /** A new session ends the previous one, because a reader needs only one. */
  function signIn(given: { email?: string; password?: string }): StandInResponse {
    if (given.email !== email || given.password !== password)
      return { status: 401, body: { message: 'Could not authenticate with the provided credentials.', code: 401.2 } }
    sessions += 1
    const token = tokenOf(sessions)
    return { body: { token, csrf: 'unused', createdAt: formatTime(0), expiresAt: formatTime(86_400) } }
  }

  function submissions(query: URLSearchParams): StandInResponse {
    const filter = query.get('$filter')
    const since = /^__system\/submissionDate ge (\S+) or __system\/updatedAt ge \1$/.exec(filter ?? '')?.[1]
    const gone = /^__system\/deletedAt (?:ge (\S+)|ne null)$/.exec(filter ?? '')
    if (filter !== null && since === undefined && !gone)
      return { status: 501, body: { message: `The field in ${filter} is not supported.`, code: 501.5 } }
    if (query.get('$expand') !== '*') return { status: 501, body: { message: 'Only in one piece.', code: 501.3 } }
    const top = Math.min(Number(query.get('$top') ?? Infinity), people.pageSize)
    const token = query.get('$skiptoken')
    const below = token === null ? Infinity : JSON.parse(Buffer.from(token.slice(2), 'base64url').toString()).id
    const wanted = ({ id, changedAt }: Person) => {
      const at = deleted.get(id)
      if (gone) return at !== undefined && (gone[1] === undefined || `${formatTime(at)}Z` >= gone[1])
      return at === undefined && (since === undefined || `${formatTime(changedAt)}Z` >= since)
    }
    const found = people.newestPage({ below, limit: top + 1, wanted })
    const value = found.slice(0, top).map((person) => submission(person, deleted.get(person.id)))
    const answer: Record<string, unknown> = {
      value,
      '@odata.context': `${server.url}${form}.svc/$metadata#Submissions`,
    }
    if (found.length > top) {
      const next = new URLSearchParams(query)
      next.set('$skiptoken', `01${Buffer.from(JSON.stringify({ id: found[top - 1]!.id })).toString('base64url')}`)
      answer['@odata.nextLink'] = `${server.url}${form}.svc/Submissions?${next}`
    }
    return { body: answer }
  }

  return { server, people, deleted, ended, username: email, secrets: { password } }
}

/** With signs that a path does not hold as they are. */
const tokenOf = (session: number): string => `session!${session}$/x`

const projects = [
  { id: 7, name: 'Households', archived: null, createdAt: formatTime(0), updatedAt: null },
  { id: 8, name: 'Old ones', archived: true, createdAt: formatTime(0), updatedAt: null },
  { id: 9, name: 'Clinics', archived: null, createdAt: formatTime(0), updatedAt: null },
]

const forms = [
  { projectId: 7, xmlFormId: 'household survey', name: 'Household survey', version: '3', publishedAt: formatTime(0) },
  { projectId: 7, xmlFormId: 'draft', name: 'A draft', version: '', publishedAt: null },
]

/** OData returns a question as text if its type differs between versions of the form. */
function fields(people: People): object[] {
  const extras = people.generated > 0 ? [] : people.page().map(({ extra }) => extra)
  const isText = extras.some((extra) => typeof extra === 'string')
  return [
    { path: '/meta', name: 'meta', type: 'structure' },
    { path: '/meta/instanceID', name: 'instanceID', type: 'string' },
    { path: '/demo', name: 'demo', type: 'structure' },
    { path: '/demo/name', name: 'name', type: 'string' },
    { path: '/demo/code', name: 'code', type: 'string' },
    { path: '/demo/age', name: 'age', type: 'int' },
    ...(extras.some((extra) => extra !== undefined)
      ? [{ path: '/extra', name: 'extra', type: isText ? 'string' : 'int' }]
      : []),
    { path: '/place', name: 'place', type: 'geopoint' },
    { path: '/home', name: 'home', type: 'structure' },
    { path: '/home/child', name: 'child', type: 'repeat' },
    { path: '/home/child/called', name: 'called', type: 'string' },
    { path: '/home/child/toy', name: 'toy', type: 'repeat' },
    { path: '/home/child/toy/kind', name: 'kind', type: 'string' },
  ].map((field) => ({ ...field, binary: null, selectMultiple: null }))
}

function submission(
  { id, name, extra, children = [], createdAt, changedAt, isUnstorable }: Person,
  deletedAt?: number,
): object {
  const uuid = `uuid:${String(id).padStart(8, '0')}`
  const link = `Submissions('${encodeURIComponent(uuid)}')/home/child`
  const moment = (seconds: number) => `${formatTime(seconds)}Z`
  return {
    __id: uuid,
    __system: {
      submissionDate: moment(createdAt),
      updatedAt: changedAt === createdAt ? null : moment(changedAt),
      deletedAt: deletedAt === undefined ? null : moment(deletedAt),
      submitterId: '5',
      submitterName: 'Device 1',
      attachmentsPresent: 0,
      attachmentsExpected: 0,
      status: null,
      reviewState: null,
      deviceId: null,
      edits: changedAt === createdAt ? 0 : 1,
      formVersion: '3',
    },
    meta: { instanceID: uuid, instanceName: null },
    demo: { name: isUnstorable ? `\u0000${name}` : name, code: '007', age: 20 + (id % 50) },
    ...(extra !== undefined && { extra }),
    place: { type: 'Point', coordinates: [36.82, -1.29, 1650], properties: { accuracy: 4.5 } },
    home: {
      'child@odata.navigationLink': link,
      child: children.map((called, index) => ({
        __id: `${id}-${index}`,
        '__Submissions-id': uuid,
        called,
        toy: called === 'Ann' ? [{ __id: `${id}-${index}-0`, kind: 'ball' }] : [],
      })),
    },
  }
}

export const odkCentral: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_G',
  system: 'ODK Central',
  unsupportedRules: {},
  columns: { id: '_id', name: 'demo_name', extra: 'extra' },
  deletedColumn: '_system_deleted_at',
  group: { table: '__home_child', column: 'called' },
  lookups: { projects: ['7', '9'], forms: ['household survey'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_ODK_URL', 'SLUICE_ODK_USER', 'SLUICE_ODK_PASSWORD', 'SLUICE_ODK_PROJECT', 'SLUICE_ODK_FORM'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_G',
      apiSource: { url: values['SLUICE_ODK_URL'], username: values['SLUICE_ODK_USER'] },
      project: values['SLUICE_ODK_PROJECT'],
      form: values['SLUICE_ODK_FORM'],
    }),
    secrets: (values) => ({ password: values['SLUICE_ODK_PASSWORD']! }),
  },
}

/** With what is not of every source: whom to delete. */
export async function standIn(own: object = {}) {
  const { username, ...started } = await startOdk()
  const apiSource = { url: `${started.server.url}/v1/`, username }
  return {
    ...started,
    remove: (id: number, at: number) => void started.deleted.set(id, at),
    settings: { type: 'SOURCE_SYSTEM_G', apiSource, project: '7', form: 'household survey', ...own },
    isPageRequest: ({ path }: { path: string }) => path.endsWith('/Submissions'),
  }
}
