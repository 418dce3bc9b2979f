import type { StandInResponse, StandInRequest } from '../../../packages/connectors/test/stand-in-server.ts'
import { connectorFixtures } from '../../../packages/connectors/test/all-connector-fixtures.ts'

/** A recorded request that can be repeated. */
export interface Exchange {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

/**
 * Runs a stand-in of the conformance suite with generated rows in a separate process. After the message `keep`, it
 * repeats recorded responses from memory, so that the measure does not include generating them. Sign-ins are not
 * recorded.
 */
const [name = '', generated] = process.argv.slice(2)
const { server, people, settings, secrets, isPageRequest } = await connectorFixtures[name]!.start()
people.generated = Number(generated)

const recordedResponses = new Map<string, StandInResponse>()
const exchanges: Exchange[] = []
const keyOf = ({ method, path, query, body }: StandInRequest) => `${method} ${path}?${query.toString()} ${body}`

server.onResponse = (request, response) => {
  const key = keyOf(request)
  const isRepeatable = request.method === 'GET' || isPageRequest(request)
  if (!isRepeatable || (response.status ?? 200) >= 400 || recordedResponses.has(key)) return
  recordedResponses.set(key, serializeBody(response))
  exchanges.push(exchangeOf(request))
}

function serializeBody({ headers, body = '', ...rest }: StandInResponse): StandInResponse {
  if (typeof body === 'string') return { ...rest, ...(headers && { headers }), body }
  return { ...rest, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

const hopByHopHeaders = new Set(['connection', 'content-length', 'host', 'transfer-encoding'])

function exchangeOf({ method, path, query, headers, body }: StandInRequest): Exchange {
  const endToEndHeaders = Object.entries(headers).filter(([header]) => !hopByHopHeaders.has(header))
  const url = `${server.url}${path}${query.size > 0 ? `?${query.toString()}` : ''}`
  return {
    method,
    url,
    headers: Object.fromEntries(endToEndHeaders) as Record<string, string>,
    ...(body !== '' && { body }),
  }
}

process.on('message', (message) => {
  if (message !== 'keep') return
  server.fault = (request) => recordedResponses.get(keyOf(request))
  process.send!({ exchanges })
})
process.on('disconnect', () => process.exit())
process.send!({ settings, secrets })
// The server is unreferenced, so a timer keeps the process alive.
setInterval(() => {}, 60_000)
