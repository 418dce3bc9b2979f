import type { Request } from '../load/load-job.ts'
import { runInterleaved, ratio, type Workload } from '../interleaved-rounds.ts'
import type { FilledService } from '../filled-service.ts'
import { bearer, connections, createWorkload, type BenchContext, type Row } from './measure.ts'

const getRequests = (path: string, tokens: readonly { accessToken: string }[]) =>
  tokens.map(({ accessToken }): Request => ({ method: 'GET', path, headers: bearer(accessToken) }))

export async function session(bench: BenchContext): Promise<Row[]> {
  const tokens = await bench.small.signIn()
  const [service, bare] = await runInterleaved(
    [
      createWorkload(bench, { port: bench.small.port, connections, requests: getRequests('/api/v1/session', tokens) }),
      createWorkload(bench, { port: bench.handlers, connections, requests: getRequests('/session', tokens) }),
    ],
    bench.rounds,
  )
  const target = { text: '≥ 0.6 × bare Express + pg', met: ratio(service!, bare!) >= 0.6 }
  return [{ label: 'GET /session', figures: service!, against: { name: 'bare Express + pg', figures: bare! }, target }]
}

export async function sessionAmongClients(bench: BenchContext): Promise<Row[]> {
  const workloadOf = async (stage: FilledService): Promise<Workload> => {
    const requests = getRequests('/api/v1/session', await stage.signIn())
    return createWorkload(bench, { port: stage.port, connections, requests })
  }
  const [withOneClient, withManyClients] = await runInterleaved(
    [await workloadOf(bench.small), await workloadOf(bench.manyClients)],
    bench.rounds,
  )
  const target = { text: '≥ 0.9 × with one client', met: ratio(withManyClients!, withOneClient!) >= 0.9 }
  const label = `GET /session, ${bench.manyClients.size.clients.toLocaleString('en')} clients`
  return [{ label, figures: withManyClients!, against: { name: 'with one client', figures: withOneClient! }, target }]
}
