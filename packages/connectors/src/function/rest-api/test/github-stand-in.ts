import type { ConnectorFixture } from '../../../../test/connector-fixture.ts'
import { formatTime, type Person, People } from '../../../../test/sample-records.ts'
import { type StandInRequest, type StandInResponse, startStandInServer } from '../../../../test/stand-in-server.ts'

const token = 'ghp_a1b2c3d4e5f6a1b2c3d4'
const issuesPath = '/repos/octocat/Hello-World/issues'
const maxPerPage = 100

/** Answers as the REST API of GitHub, which has pages of issues in the order of their creation. */
export async function startGithub() {
  const people = new People()
  const server = await startStandInServer(respond)

  function respond({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { message: 'Bad credentials' } }
    if (headers['x-github-api-version'] !== '2022-11-28') return { status: 400, body: { message: 'Unknown version' } }
    return path === issuesPath ? listIssues(query) : { status: 404, body: { message: 'Not Found' } }
  }

  function listIssues(query: URLSearchParams): StandInResponse {
    if (query.get('sort') !== 'created' || query.get('direction') !== 'asc' || query.get('state') !== 'all')
      return { status: 422, body: { message: 'Validation Failed' } }
    const perPage = Math.min(Number(query.get('per_page') ?? 30), maxPerPage, people.pageSize)
    const page = Number(query.get('page') ?? 1)
    const since = query.get('since')
    const wanted = since === null ? undefined : ({ changedAt }: Person) => toTime(changedAt) >= since
    const found = people.page({ skip: (page - 1) * perPage, limit: perPage + 1, ...(wanted && { wanted }) })
    const linkTo = (number: number, relation: string) => {
      const parameters = new URLSearchParams(query)
      parameters.set('page', String(number))
      return `<${server.url}${issuesPath}?${parameters}>; rel="${relation}"`
    }
    const links = [
      ...(page > 1 ? [linkTo(page - 1, 'prev')] : []),
      ...(found.length > perPage ? [linkTo(page + 1, 'next')] : []),
      linkTo(1, 'first'),
    ]
    return { headers: { link: links.join(', ') }, body: found.slice(0, perPage).map(toIssue) }
  }

  return { server, people }
}

const toTime = (seconds: number): string => `${formatTime(seconds).slice(0, 19)}Z`

const toIssue = ({ id, name, extra, children = [], createdAt, changedAt, isUnstorable }: Person): object => ({
  id,
  url: `https://api.github.com/repos/octocat/Hello-World/issues/${id}`,
  number: id,
  state: 'open',
  title: isUnstorable ? `\u0000${name}` : name,
  body: "I'm having a problem with this.",
  user: { login: 'octocat', id: 1, site_admin: false },
  labels: children.map((called) => ({
    id: 208045946,
    name: called,
    description: "Something isn't working",
    color: 'f29513',
    default: true,
  })),
  locked: true,
  active_lock_reason: 'too heated',
  comments: 0,
  closed_at: null,
  created_at: toTime(createdAt),
  updated_at: toTime(changedAt),
  author_association: 'COLLABORATOR',
  ...(extra !== undefined && { extra }),
})

export const githubIssues: ConnectorFixture = {
  type: 'FUNCTION',
  system: 'REST API with a Link header (GitHub)',
  unsupportedRules: {},
  columns: { id: 'id', name: 'title', extra: 'extra' },
  group: { table: '__labels', column: 'name' },
  lookups: {
    'record-paths': [],
    fields: [
      'id',
      'url',
      'number',
      'state',
      'title',
      'body',
      'user.login',
      'user.id',
      'user.site_admin',
      'labels',
      'locked',
      'active_lock_reason',
      'comments',
      'closed_at',
      'created_at',
      'updated_at',
      'author_association',
    ],
  },
  async start() {
    const { server, people } = await startGithub()
    return {
      server,
      people,
      settings: {
        type: 'FUNCTION',
        functionSource: { url: server.url },
        restApi: {
          path: issuesPath,
          query: { state: 'all', sort: 'created', direction: 'asc' },
          headers: { 'X-GitHub-Api-Version': '2022-11-28', accept: 'application/vnd.github+json' },
          key: ['id'],
          paging: { type: 'LINK_HEADER', sizeParameter: 'per_page', size: 100 },
          increment: { cursorField: 'updated_at', parameter: 'since' },
        },
      },
      secrets: { authToken: token },
      isPageRequest: ({ path }: StandInRequest) => path === issuesPath,
    }
  },
}
