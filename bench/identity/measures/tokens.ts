import { password } from '../fill-database.ts'
import { runInterleaved, ratio, type Workload } from '../interleaved-rounds.ts'
import { basic, connections, createWorkload, form, json, post, type BenchContext, type Row } from './measure.ts'

export async function login(bench: BenchContext): Promise<Row[]> {
  const signInRequests = (path: string) =>
    bench.small.people.map((username) => post(path, json, JSON.stringify({ username, password })))
  const limit: Workload = {
    async round(seconds) {
      return { rate: await bench.checkPasswords(seconds), p50: Number.NaN, p95: Number.NaN }
    },
  }
  const service = createWorkload(bench, {
    port: bench.small.port,
    connections,
    requests: signInRequests('/api/v1/auth/login'),
  })
  const bareHandlers = createWorkload(bench, { port: bench.handlers, connections, requests: signInRequests('/login') })
  // Sign-ins are slow and the expected difference is a few percent, so this measure needs twice as many rounds.
  const [figures, least, most] = await runInterleaved([service, bareHandlers, limit], {
    ...bench.rounds,
    rounds: 2 * bench.rounds.rounds,
  })
  const label = 'POST /auth/login'
  const target = { text: '≥ 0.75 × bare Express + pg + argon2', met: ratio(figures!, least!) >= 0.75 }
  return [
    { label, figures: figures!, against: { name: 'bare Express + pg + argon2', figures: least! }, target },
    { label, figures: figures!, against: { name: 'argon2 alone', figures: most! } },
  ]
}

export async function refresh(bench: BenchContext): Promise<Row[]> {
  const seeds = await fetch(`http://127.0.0.1:${bench.provider}/seed/${connections}`, { method: 'POST' })
  const service = createWorkload(bench, {
    port: bench.small.port,
    connections,
    chain: {
      tokens: (await bench.small.signIn()).map(({ refreshToken }) => refreshToken),
      request: post('/api/v1/auth/refresh', json, '{"refreshToken":"{token}"}'),
      next: 'refreshToken',
    },
  })
  const bareHandlers = createWorkload(bench, {
    port: bench.provider,
    connections,
    chain: {
      tokens: (await seeds.json()) as string[],
      request: post('/token', { ...form, ...bareClient }, 'grant_type=refresh_token&refresh_token={token}'),
      next: 'refresh_token',
    },
  })
  const [figures, other] = await runInterleaved([service, bareHandlers], bench.rounds)
  const against = { name: 'bare oidc-provider', figures: other! }
  const target = { text: '≥ 500/s', met: figures!.rate >= 500 }
  return [{ label: 'POST /auth/refresh', figures: figures!, against, target }]
}

export async function clientCredentials(bench: BenchContext): Promise<Row[]> {
  const { id, secret } = bench.small.application
  const body = 'grant_type=client_credentials'
  const [figures, other] = await runInterleaved(
    [
      createWorkload(bench, {
        port: bench.small.port,
        connections,
        requests: [post('/oidc/token', { ...form, ...basic(id, secret) }, body)],
      }),
      createWorkload(bench, {
        port: bench.provider,
        connections,
        requests: [post('/token', { ...form, ...bareClient }, body)],
      }),
    ],
    bench.rounds,
  )
  const against = { name: 'bare oidc-provider', figures: other! }
  const target = { text: '≥ 1,000/s', met: figures!.rate >= 1000 }
  return [{ label: 'POST /oidc/token, client_credentials', figures: figures!, against, target }]
}

const bareClient = basic('bench', 'bench')
