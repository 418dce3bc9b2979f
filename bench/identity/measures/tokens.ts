import { password } from '../data.ts'
import { inTurns, ratio, type Contender } from '../in-turns.ts'
import { basic, connections, contender, form, json, post, type Bench, type Row } from './bench.ts'

export async function login(bench: Bench): Promise<Row[]> {
  const signingInAt = (path: string) =>
    bench.small.people.map((username) => post(path, json, JSON.stringify({ username, password })))
  const limit: Contender = {
    async round(seconds) {
      return { rate: await bench.checkPasswords(seconds), p50: Number.NaN, p95: Number.NaN }
    },
  }
  const ours = contender(bench, { port: bench.small.port, connections, requests: signingInAt('/api/v1/auth/login') })
  const bare = contender(bench, { port: bench.handlers, connections, requests: signingInAt('/login') })
  // Passwords are few a second, and what is to be seen is a few hundredths: twice as many rounds.
  const [figures, least, most] = await inTurns([ours, bare, limit], {
    ...bench.rounds,
    rounds: 2 * bench.rounds.rounds,
  })
  const what = 'POST /auth/login'
  const target = { text: '≥ 0.75 × bare Express + pg + argon2', met: ratio(figures!, least!) >= 0.75 }
  return [
    { what, figures: figures!, against: { name: 'bare Express + pg + argon2', figures: least! }, target },
    { what, figures: figures!, against: { name: 'argon2 alone', figures: most! } },
  ]
}

export async function refresh(bench: Bench): Promise<Row[]> {
  const seeds = await fetch(`http://127.0.0.1:${bench.provider}/seed/${connections}`, { method: 'POST' })
  const ours = contender(bench, {
    port: bench.small.port,
    connections,
    chain: {
      tokens: (await bench.small.signIn()).map(({ refreshToken }) => refreshToken),
      request: post('/api/v1/auth/refresh', json, '{"refreshToken":"{token}"}'),
      next: 'refreshToken',
    },
  })
  const bare = contender(bench, {
    port: bench.provider,
    connections,
    chain: {
      tokens: (await seeds.json()) as string[],
      request: post('/token', { ...form, ...bareClient }, 'grant_type=refresh_token&refresh_token={token}'),
      next: 'refresh_token',
    },
  })
  const [figures, other] = await inTurns([ours, bare], bench.rounds)
  const against = { name: 'bare oidc-provider', figures: other! }
  const target = { text: '≥ 500/s', met: figures!.rate >= 500 }
  return [{ what: 'POST /auth/refresh', figures: figures!, against, target }]
}

export async function clientCredentials(bench: Bench): Promise<Row[]> {
  const { id, secret } = bench.small.application
  const body = 'grant_type=client_credentials'
  const [figures, other] = await inTurns(
    [
      contender(bench, {
        port: bench.small.port,
        connections,
        requests: [post('/oidc/token', { ...form, ...basic(id, secret) }, body)],
      }),
      contender(bench, {
        port: bench.provider,
        connections,
        requests: [post('/token', { ...form, ...bareClient }, body)],
      }),
    ],
    bench.rounds,
  )
  const against = { name: 'bare oidc-provider', figures: other! }
  const target = { text: '≥ 1,000/s', met: figures!.rate >= 1000 }
  return [{ what: 'POST /oidc/token, client_credentials', figures: figures!, against, target }]
}

const bareClient = basic('bench', 'bench')
