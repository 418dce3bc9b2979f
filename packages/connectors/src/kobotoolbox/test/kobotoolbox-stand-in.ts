import { formatTime, type Person, People } from '../../../test/sample-records.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const token = '0123456789abcdef0123456789abcdef01234567'
const survey = 'aXjPqBvW4f7n5hLkTzR8sm'
/** As of this server's version. */
const maxAtOnce = 1_000

/** Answers as KoboToolbox's API v2 does, of one form that was deployed and one that was not. */
async function start() {
  const people = new People()
  const server = await startStandInServer(answer)

  function answer({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Token ${token}`) return { status: 401, body: { detail: 'Invalid token.' } }
    if (path === '/api/v2/assets/') return assets(query)
    if (path === `/api/v2/assets/${survey}/`) return { body: { uid: survey, name: 'Households', content: form } }
    if (path === `/api/v2/assets/${survey}/data/`) return data(query)
    return { status: 404, body: { detail: 'Not found.' } }
  }

  function assets(query: URLSearchParams): StandInResponse {
    const all = [
      { uid: survey, name: 'Households', has_deployment: true },
      { uid: 'aDraft', name: 'A draft', has_deployment: false },
      { uid: 'aSecond', name: 'Second form', has_deployment: true },
    ]
    const from = Number(query.get('start') ?? 0)
    // Two at once at most, so that there is a second page.
    const next = from + 2 < all.length ? `${server.url}/api/v2/assets/?format=json&limit=2&start=${from + 2}` : null
    return { body: { count: all.length, next, previous: null, results: all.slice(from, from + 2) } }
  }

  function data(query: URLSearchParams): StandInResponse {
    const limit = Math.min(Number(query.get('limit') ?? 100), maxAtOnce, people.pageSize)
    const { _id: id, _submission_time: time } = JSON.parse(query.get('query') ?? '{}')
    const wanted = ({ createdAt }: Person) => time === undefined || formatTime(createdAt) >= time.$gte
    const found = people.page({ from: (id?.$gt ?? 0) + 1, limit: limit + 1, wanted })
    const next = found.length > limit ? `${server.url}/api/v2/assets/${survey}/data/?start=${limit}` : null
    return { body: { count: people.size, next, previous: null, results: found.slice(0, limit).map(submission) } }
  }

  return {
    server,
    people,
    settings: { type: 'SOURCE_SYSTEM_E', apiSource: { url: `${server.url}/api/v2/` }, survey },
    secrets: { authToken: token },
    isPageRequest: ({ path }: StandInRequest) => path.endsWith('/data/'),
  }
}

const form = {
  survey: [
    { type: 'start', name: 'start' },
    { type: 'begin_group', name: 'demo' },
    { type: 'text', name: 'name', label: ['What is your name?'] },
    { type: 'integer', name: 'age' },
    { type: 'select_one', name: 'zone' },
    { type: 'end_group' },
    { type: 'geopoint', name: 'gps' },
    { type: 'begin_repeat', name: 'child' },
    { type: 'text', name: 'called' },
    { type: 'end_repeat' },
  ],
}

/** As it comes: texts all over, groups by their paths, repeats as lists. */
function submission({ id, name, extra, children = [], createdAt, isUnstorable }: Person): object {
  return {
    _id: id,
    'formhub/uuid': '8f0c',
    start: `${formatTime(createdAt)}+03:00`,
    'demo/name': isUnstorable ? `\u0000${name}` : name,
    'demo/age': String(20 + (id % 50)),
    'demo/zone': '01',
    ...(extra !== undefined && { 'demo/extra': String(extra) }),
    gps: '-1.29 36.82 1650 5',
    _uuid: `uuid-${id}`,
    _submission_time: formatTime(createdAt).slice(0, 19),
    _geolocation: [-1.29, 36.82],
    _tags: [],
    _attachments: [],
    _validation_status: {},
    child_count: String(children.length),
    ...(children.length > 0 && { child: children.map((called) => ({ 'child/called': called })) }),
  }
}

export const kobotoolbox: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_E',
  system: 'KoboToolbox',
  runsEveryRuleAlways: true,
  unsupportedRules: {
    edit: 'An edit does not change the time of submission, so the API does not report it: full runs load edits and deletions.',
  },
  columns: { id: '_id', name: 'demo_name', extra: 'demo_extra' },
  group: { table: '__child', column: 'called' },
  lookups: { surveys: [survey, 'aSecond'] },
  start,
  account: {
    variables: ['SLUICE_KOBO_URL', 'SLUICE_KOBO_TOKEN', 'SLUICE_KOBO_SURVEY'],
    settings: ({ SLUICE_KOBO_URL: url, SLUICE_KOBO_SURVEY: asset }) => ({
      type: 'SOURCE_SYSTEM_E',
      apiSource: { url },
      survey: asset,
    }),
    secrets: ({ SLUICE_KOBO_TOKEN: authToken }) => ({ authToken: authToken! }),
  },
}
