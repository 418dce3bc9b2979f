import type { ConnectorFixture } from '../../../../test/connector-fixture.ts'
import { type Person, People } from '../../../../test/sample-records.ts'
import { type StandInRequest, type StandInResponse, startStandInServer } from '../../../../test/stand-in-server.ts'

const token = 'dop_v1_a1b2c3d4e5f6a1b2c3d4'
const firewallsPath = '/v2/firewalls'
const maxPerPage = 200

/** Answers as the API of DigitalOcean: its responses contain the links to other pages and the number of all records. */
export async function startDigitalOcean() {
  const people = new People()
  const server = await startStandInServer(respond)

  function respond({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { id: 'unauthorized', message: 'Unable to authenticate you.' } }
    if (path === firewallsPath) return listFirewalls(query)
    return { status: 404, body: { id: 'not_found', message: 'The resource you were accessing could not be found.' } }
  }

  function listFirewalls(query: URLSearchParams): StandInResponse {
    const perPage = Math.min(Number(query.get('per_page') ?? 20), maxPerPage, people.pageSize)
    const page = Number(query.get('page') ?? 1)
    const found = people.page({ skip: (page - 1) * perPage, limit: perPage })
    const last = Math.max(1, Math.ceil(people.size / perPage))
    const linkTo = (number: number) => `${server.url}${firewallsPath}?page=${number}&per_page=${perPage}`
    const pages = {
      ...(page > 1 && { first: linkTo(1), prev: linkTo(page - 1) }),
      ...(page < last && { next: linkTo(page + 1), last: linkTo(last) }),
    }
    const links = Object.keys(pages).length > 0 ? { pages } : {}
    return { body: { firewalls: found.map(toFirewall), links, meta: { total: people.size } } }
  }

  return { server, people }
}

const toFirewall = ({ id, name, extra, children = [], isUnstorable }: Person): object => ({
  id: `fb6045f1-cf1d-4ca3-bfac-${String(id).padStart(12, '0')}`,
  name: isUnstorable ? `\u0000${name}` : name,
  status: 'succeeded',
  inbound_rules: children.map((ports) => ({ protocol: 'tcp', ports, sources: { tags: ['gateway'] } })),
  outbound_rules: [{ protocol: 'tcp', ports: '80', destinations: { addresses: ['0.0.0.0/0', '::/0'] } }],
  created_at: '2017-05-23T21:23:59Z',
  droplet_ids: [8043964],
  tags: [],
  pending_changes: [],
  ...(extra !== undefined && { extra }),
})

const noIncrements = 'The API has no parameter for changes: each run reads everything and replaces the rows.'

export const digitalOceanFirewalls: ConnectorFixture = {
  type: 'FUNCTION',
  system: 'REST API with links in its responses (DigitalOcean)',
  unsupportedRules: { increment: noIncrements, edit: noIncrements },
  columns: { id: 'id', name: 'name', extra: 'extra' },
  group: { table: '__inbound_rules', column: 'ports' },
  lookups: { 'record-paths': ['firewalls'] },
  async start() {
    const { server, people } = await startDigitalOcean()
    return {
      server,
      people,
      settings: {
        type: 'FUNCTION',
        functionSource: { url: `${server.url}${firewallsPath}` },
        restApi: {
          records: 'firewalls',
          key: ['id'],
          paging: {
            type: 'NEXT_LINK',
            path: 'links.pages.next',
            total: 'meta.total',
            sizeParameter: 'per_page',
            size: 200,
          },
        },
      },
      secrets: { authToken: token },
      isPageRequest: ({ path }: StandInRequest) => path === firewallsPath,
    }
  },
}
