import type { StandInResponse, StandInRequest } from '../../../packages/connectors/test/stand-in-server.ts'
import { connectorFixtures } from '../../../packages/connectors/test/connector-fixtures.ts'

/** A recorded request, to be sent again. */
export interface Exchange {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

/**
 * A stand-in of the conformance suite with a crowd in it, in a process of its own. Told `keep`, it gives each answer that it has given
 * before from memory: what is measured then is the way, not the making. Signing in goes on as it is.
 */
const [name = '', generated] = process.argv.slice(2)
const { server, people, settings, secrets, isPageRequest } = await connectorFixtures[name]!.start()
people.generated = Number(generated)

const given = new Map<string, StandInResponse>()
const exchanges: Exchange[] = []
const keyOf = ({ method, path, query, body }: StandInRequest) => `${method} ${path}?${query.toString()} ${body}`

server.onResponse = (request, answer) => {
  const key = keyOf(request)
  const isAsking = request.method === 'GET' || isPageRequest(request)
  if (!isAsking || (answer.status ?? 200) >= 400 || given.has(key)) return
  given.set(key, asText(answer))
  exchanges.push(exchangeOf(request))
}

function asText({ headers, body = '', ...rest }: StandInResponse): StandInResponse {
  if (typeof body === 'string') return { ...rest, ...(headers && { headers }), body }
  return { ...rest, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

const ofTheConnection = new Set(['connection', 'content-length', 'host', 'transfer-encoding'])

function exchangeOf({ method, path, query, headers, body }: StandInRequest): Exchange {
  const own = Object.entries(headers).filter(([header]) => !ofTheConnection.has(header))
  const url = `${server.url}${path}${query.size > 0 ? `?${query.toString()}` : ''}`
  return { method, url, headers: Object.fromEntries(own) as Record<string, string>, ...(body !== '' && { body }) }
}

process.on('message', (wish) => {
  if (wish !== 'keep') return
  server.fault = (request) => given.get(keyOf(request))
  process.send!({ exchanges })
})
process.on('disconnect', () => process.exit())
process.send!({ settings, secrets })
// The server alone does not keep a process alive.
setInterval(() => {}, 60_000)
