import { runInterleaved, type Workload } from '../interleaved-rounds.ts'
import type { FilledService } from '../filled-service.ts'
import { bearer, connections, createWorkload, json, post, type BenchContext, type Row } from './measure.ts'

/** Two concurrent searches: the measure is the time of one search, not the waiting time in a queue. */
const searchers = 2
const url = '/api/v1/users/search'

interface Search {
  label: string
  body(stage: FilledService, headers: Record<string, string>): object[] | Promise<object[]>
}

const searches: Search[] = [
  {
    label: 'users by name fragment',
    body: ({ names }) => names.map((name) => ({ query: name.slice(2, -1), paging: {} })),
  },
  {
    label: 'users by filter',
    body: ({ names }) =>
      names.map((name) => ({ filter: [`name:startsWith:${name.slice(0, -2)}`, 'status:eq:ACTIVE'], paging: {} })),
  },
  { label: 'users, first page of all', body: () => [{ paging: {} }] },
  {
    label: 'users, last page by cursor',
    body: async (stage, headers) => [{ paging: { after: await lastCursor(stage, headers) } }],
  },
]

export async function searchUsers(bench: BenchContext): Promise<Row[]> {
  const rows: Row[] = []
  for (const search of searches) rows.push(...(await searchAtEverySize(bench, search)))
  return rows
}

async function searchAtEverySize(bench: BenchContext, { label, body }: Search): Promise<Row[]> {
  const workloads: Workload[] = []
  for (const stage of bench.sizes) {
    const headers = await headersFor(stage)
    const bodies = await body(stage, headers)
    const requests = bodies.map((search) => post(url, headers, JSON.stringify(search)))
    workloads.push(createWorkload(bench, { port: stage.port, connections: searchers, requests }))
  }
  const figures = await runInterleaved(workloads, bench.rounds)
  const fewest = { name: `of ${formatUserCount(bench.sizes[0]!)}`, figures: figures[0]! }
  return bench.sizes.map((stage, index) => {
    const current = figures[index]!
    const line = { label: `${label}, of ${formatUserCount(stage)}`, figures: current }
    if (index === 0) return line
    const times = current.p95 / fewest.figures.p95
    return {
      ...line,
      against: fewest,
      target: { text: `p95 ≤ 2 × that of the fewest: ${times.toFixed(2)} ×`, met: times <= 2 },
    }
  })
}

const formatUserCount = ({ size }: FilledService): string => size.users.toLocaleString('en')

async function headersFor(stage: FilledService): Promise<Record<string, string>> {
  const [first] = await stage.signIn()
  return { ...json, ...bearer(first!.accessToken) }
}

/** Reads all pages of 1,000 users and returns the cursor of the last page. */
async function lastCursor({ port }: FilledService, headers: Record<string, string>): Promise<string | undefined> {
  let after: string | undefined
  for (;;) {
    const body = JSON.stringify({ paging: { after, pageSize: 1000, total: false } })
    const response = await fetch(`http://127.0.0.1:${port}${url}`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`walking returned ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
    const next = response.headers.get('x-next-cursor')
    if (next === null) return after
    after = next
  }
}

export async function createUser(bench: BenchContext): Promise<Row[]> {
  const headers = await headersFor(bench.small)
  const createRequest = (path: string, more: object) =>
    post(
      path,
      headers,
      JSON.stringify({ name: 'Newcomer', username: 'new-{n}', email: 'new-{n}@example.org', ...more }),
    )
  // Users with SSO get no invitation by e-mail, so the measure does not include e-mails.
  const body = { ssoAuth: true, ssoId: 'new-{n}', startPage: 'DEFAULT' }
  const [service, bare] = await runInterleaved(
    [
      createWorkload(bench, { port: bench.small.port, connections, requests: [createRequest('/api/v1/users', body)] }),
      createWorkload(bench, {
        port: bench.handlers,
        connections,
        requests: [createRequest('/users', { client: bench.small.client })],
      }),
    ],
    bench.rounds,
  )
  return [{ label: 'POST /users', figures: service!, against: { name: 'bare Express + pg', figures: bare! } }]
}
