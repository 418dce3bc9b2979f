import type { Generator } from './load/generator.ts'
import type { Job, Request } from './load/job.ts'
import { inTurns, type Contender, type Figures, type Rounds } from './measure.ts'
import type { Stage } from './stage.ts'

export interface Row {
  what: string
  figures: Figures
  /** What it is held against. */
  against?: { name: string; figures: Figures }
  target?: { text: string; met: boolean }
}

export interface Bench {
  generator: Generator
  rounds: Rounds
  /** One client, 1,000 users. */
  small: Stage
  /** By users of the one client, fewest first; `small` is the first. */
  sizes: Stage[]
  /** 10,000 clients. */
  crowded: Stage
  /** The ports of what Express, pg and oidc-provider do by themselves. */
  handlers: number
  provider: number
  /** Passwords per second that the cores can check. */
  checkPasswords(seconds: number): Promise<number>
}

const connections = 16
const json = { 'content-type': 'application/json' }
const bearing = (token: string) => ({ authorization: `Bearer ${token}` })
const times = (factor: number): string => `${factor.toFixed(2)} ×`

const contender = ({ generator }: Bench, name: string, job: Omit<Job, 'seconds' | 'warmUp'>): Contender => ({
  name,
  async round(seconds) {
    const result = await generator.run({ ...job, seconds, warmUp: 0.5 })
    if (job.chain) job.chain.tokens = result.tokens
    return result
  },
})

export async function session(bench: Bench): Promise<Row[]> {
  const tokens = await bench.small.signIn()
  const asking = (path: string) =>
    tokens.map(({ accessToken }): Request => ({ method: 'GET', path, headers: bearing(accessToken) }))
  const [ours, bare] = await inTurns(
    [
      contender(bench, 'sluice', { port: bench.small.port, connections, requests: asking('/api/v1/session') }),
      contender(bench, 'bare', { port: bench.handlers, connections, requests: asking('/session') }),
    ],
    bench.rounds,
  )
  const target = { text: '≥ 0.6 × bare Express + pg', met: ours!.rate >= 0.6 * bare!.rate }
  return [{ what: 'GET /session', figures: ours!, against: { name: 'bare Express + pg', figures: bare! }, target }]
}

export async function sessionAmongClients(bench: Bench): Promise<Row[]> {
  const of = async (stage: Stage): Promise<Contender> => {
    const requests = (await stage.signIn()).map(
      ({ accessToken }): Request => ({ method: 'GET', path: '/api/v1/session', headers: bearing(accessToken) }),
    )
    return contender(bench, `${stage.size.clients}`, { port: stage.port, connections, requests })
  }
  const [alone, crowded] = await inTurns([await of(bench.small), await of(bench.crowded)], bench.rounds)
  const target = { text: '≥ 0.9 × with one client', met: crowded!.rate >= 0.9 * alone!.rate }
  const against = { name: 'with one client', figures: alone! }
  return [{ what: 'GET /session, 10,000 clients', figures: crowded!, against, target }]
}

export async function refresh(bench: Bench): Promise<Row[]> {
  const seeds = await fetch(`http://127.0.0.1:${bench.provider}/seed/${connections}`, { method: 'POST' })
  const ours = contender(bench, 'sluice', {
    port: bench.small.port,
    connections,
    chain: {
      tokens: (await bench.small.signIn()).map(({ refreshToken }) => refreshToken),
      request: { method: 'POST', path: '/api/v1/auth/refresh', headers: json, body: '{"refreshToken":"{token}"}' },
      next: 'refreshToken',
    },
  })
  const bare = contender(bench, 'bare', {
    port: bench.provider,
    connections,
    chain: {
      tokens: (await seeds.json()) as string[],
      request: {
        method: 'POST',
        path: '/token',
        headers: { ...asBench, ...form },
        body: 'grant_type=refresh_token&refresh_token={token}',
      },
      next: 'refresh_token',
    },
  })
  const [figures, other] = await inTurns([ours, bare], bench.rounds)
  const target = { text: '≥ 500/s', met: figures!.rate >= 500 }
  return [
    { what: 'POST /auth/refresh', figures: figures!, against: { name: 'bare oidc-provider', figures: other! }, target },
  ]
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const asBench = { authorization: `Basic ${Buffer.from('bench:bench').toString('base64')}` }

export async function login(bench: Bench): Promise<Row[]> {
  const requests = bench.small.people.map((username): Request => {
    const body = JSON.stringify({ username, password: 'heron-sifts-41-pebbles' })
    return { method: 'POST', path: '/api/v1/auth/login', headers: json, body }
  })
  const limit: Contender = {
    name: 'argon2',
    async round(seconds) {
      const rate = await bench.checkPasswords(seconds)
      return { rate, p50: Number.NaN, p95: Number.NaN }
    },
  }
  const ours = contender(bench, 'sluice', { port: bench.small.port, connections, requests })
  const [figures, most] = await inTurns([ours, limit], bench.rounds)
  const target = { text: 'within 15 % of the argon2 limit', met: figures!.rate >= 0.85 * most!.rate }
  return [{ what: 'POST /auth/login', figures: figures!, against: { name: 'argon2 alone', figures: most! }, target }]
}

export async function createUser(bench: Bench): Promise<Row[]> {
  const [first] = await bench.small.signIn()
  const { client } = bench.small
  const asking = (path: string, more: object): Request => ({
    method: 'POST',
    path,
    headers: { ...json, ...bearing(first!.accessToken) },
    body: JSON.stringify({ name: 'Newcomer', username: 'new-{n}', email: 'new-{n}@example.org', ...more }),
  })
  const body = { ssoAuth: false, startPage: 'DEFAULT' }
  const [ours, bare] = await inTurns(
    [
      contender(bench, 'sluice', { port: bench.small.port, connections, requests: [asking('/api/v1/users', body)] }),
      contender(bench, 'bare', { port: bench.handlers, connections, requests: [asking('/users', { client })] }),
    ],
    bench.rounds,
  )
  return [{ what: 'POST /users', figures: ours!, against: { name: 'bare Express + pg', figures: bare! } }]
}

/** What is searched for, from the names of users that there are. */
const searches: { what: string; body(stage: Stage): object[] }[] = [
  {
    what: 'users by name fragment',
    body: ({ names }) => names.map((name) => ({ query: name.slice(-8, -1), paging: { pageSize: 50 } })),
  },
  {
    what: 'users by filter',
    body: ({ names }) =>
      names.map((name) => ({
        filter: [`name:startsWith:${name.slice(0, -3)}`, 'status:!eq:INACTIVE'],
        paging: { pageSize: 50 },
      })),
  },
  { what: 'users, first page', body: () => [{ order: ['name:iasc'], paging: { pageSize: 50, total: false } }] },
]

export async function searchUsers(bench: Bench): Promise<Row[]> {
  const rows: Row[] = []
  for (const { what, body } of searches) {
    const contenders = bench.sizes.map(async (stage): Promise<Contender> => {
      const [first] = await stage.signIn()
      const headers = { ...json, ...bearing(first!.accessToken) }
      const requests = body(stage).map(
        (body): Request => ({ method: 'POST', path: '/api/v1/users/search', headers, body: JSON.stringify(body) }),
      )
      return contender(bench, String(stage.size.users), { port: stage.port, connections: 2, requests })
    })
    const figures = await inTurns(await Promise.all(contenders), bench.rounds)
    const [fewest] = figures
    for (const [index, stage] of bench.sizes.entries()) {
      const these = figures[index]!
      rows.push({
        what: `${what}, of ${stage.size.users.toLocaleString('en')}`,
        figures: these,
        ...(index > 0 && {
          against: { name: `of ${bench.sizes[0]!.size.users.toLocaleString('en')}`, figures: fewest! },
          target: { text: `p95 ≤ 2 × (is ${times(these.p95 / fewest!.p95)})`, met: these.p95 <= 2 * fewest!.p95 },
        }),
      })
    }
  }
  return rows
}
