import { inTurns, type Contender } from '../in-turns.ts'
import type { Stage } from '../stage.ts'
import { bearing, connections, contender, json, post, type Bench, type Row } from './bench.ts'

/** Two at once: what one search takes is the question, not how many wait in line. */
const searchers = 2
const url = '/api/v1/users/search'

interface Search {
  what: string
  body(stage: Stage, headers: Record<string, string>): object[] | Promise<object[]>
}

const searches: Search[] = [
  {
    what: 'users by name fragment',
    body: ({ names }) => names.map((name) => ({ query: name.slice(2, -1), paging: {} })),
  },
  {
    what: 'users by filter',
    body: ({ names }) =>
      names.map((name) => ({ filter: [`name:startsWith:${name.slice(0, -2)}`, 'status:eq:ACTIVE'], paging: {} })),
  },
  { what: 'users, first page of all', body: () => [{ paging: {} }] },
  {
    what: 'users, last page by cursor',
    body: async (stage, headers) => [{ paging: { after: await lastCursor(stage, headers) } }],
  },
]

export async function searchUsers(bench: Bench): Promise<Row[]> {
  const rows: Row[] = []
  for (const search of searches) rows.push(...(await searchAtEverySize(bench, search)))
  return rows
}

async function searchAtEverySize(bench: Bench, { what, body }: Search): Promise<Row[]> {
  const contenders: Contender[] = []
  for (const stage of bench.sizes) {
    const headers = await headersFor(stage)
    const bodies = await body(stage, headers)
    const requests = bodies.map((asked) => post(url, headers, JSON.stringify(asked)))
    contenders.push(contender(bench, { port: stage.port, connections: searchers, requests }))
  }
  const figures = await inTurns(contenders, bench.rounds)
  const fewest = { name: `of ${counted(bench.sizes[0]!)}`, figures: figures[0]! }
  return bench.sizes.map((stage, index) => {
    const these = figures[index]!
    const line = { what: `${what}, of ${counted(stage)}`, figures: these }
    if (index === 0) return line
    const times = these.p95 / fewest.figures.p95
    return {
      ...line,
      against: fewest,
      target: { text: `p95 ≤ 2 × that of the fewest: ${times.toFixed(2)} ×`, met: times <= 2 },
    }
  })
}

const counted = ({ size }: Stage): string => size.users.toLocaleString('en')

async function headersFor(stage: Stage): Promise<Record<string, string>> {
  const [first] = await stage.signIn()
  return { ...json, ...bearing(first!.accessToken) }
}

/** Walks to the end once, a thousand at a time. */
async function lastCursor({ port }: Stage, headers: Record<string, string>): Promise<string | undefined> {
  let after: string | undefined
  for (;;) {
    const body = JSON.stringify({ paging: { after, pageSize: 1000, total: false } })
    const response = await fetch(`http://127.0.0.1:${port}${url}`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`walking was answered ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
    const next = response.headers.get('x-next-cursor')
    if (next === null) return after
    after = next
  }
}

export async function createUser(bench: Bench): Promise<Row[]> {
  const headers = await headersFor(bench.small)
  const asking = (path: string, more: object) =>
    post(
      path,
      headers,
      JSON.stringify({ name: 'Newcomer', username: 'new-{n}', email: 'new-{n}@example.org', ...more }),
    )
  // Whoever has a password is invited, which is a mail as well.
  const body = { ssoAuth: true, ssoId: 'new-{n}', startPage: 'DEFAULT' }
  const [ours, bare] = await inTurns(
    [
      contender(bench, { port: bench.small.port, connections, requests: [asking('/api/v1/users', body)] }),
      contender(bench, {
        port: bench.handlers,
        connections,
        requests: [asking('/users', { client: bench.small.client })],
      }),
    ],
    bench.rounds,
  )
  return [{ what: 'POST /users', figures: ours!, against: { name: 'bare Express + pg', figures: bare! } }]
}
