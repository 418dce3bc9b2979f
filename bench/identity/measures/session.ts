import type { Request } from '../load/job.ts'
import { inTurns, ratio, type Contender } from '../in-turns.ts'
import type { Stage } from '../stage.ts'
import { bearing, connections, contender, type Bench, type Row } from './bench.ts'

const asking = (path: string, tokens: readonly { accessToken: string }[]) =>
  tokens.map(({ accessToken }): Request => ({ method: 'GET', path, headers: bearing(accessToken) }))

export async function session(bench: Bench): Promise<Row[]> {
  const tokens = await bench.small.signIn()
  const [ours, bare] = await inTurns(
    [
      contender(bench, { port: bench.small.port, connections, requests: asking('/api/v1/session', tokens) }),
      contender(bench, { port: bench.handlers, connections, requests: asking('/session', tokens) }),
    ],
    bench.rounds,
  )
  const target = { text: '≥ 0.6 × bare Express + pg', met: ratio(ours!, bare!) >= 0.6 }
  return [{ what: 'GET /session', figures: ours!, against: { name: 'bare Express + pg', figures: bare! }, target }]
}

export async function sessionAmongClients(bench: Bench): Promise<Row[]> {
  const of = async (stage: Stage): Promise<Contender> => {
    const requests = asking('/api/v1/session', await stage.signIn())
    return contender(bench, { port: stage.port, connections, requests })
  }
  const [alone, crowded] = await inTurns([await of(bench.small), await of(bench.crowded)], bench.rounds)
  const target = { text: '≥ 0.9 × with one client', met: ratio(crowded!, alone!) >= 0.9 }
  const what = `GET /session, ${bench.crowded.size.clients.toLocaleString('en')} clients`
  return [{ what, figures: crowded!, against: { name: 'with one client', figures: alone! }, target }]
}
