import type { Readable } from 'node:stream'
import { Agent, buildConnector, fetch as undiciFetch, type RequestInit as UndiciInit } from 'undici'
import type { ResolvedAddress } from './resolve-allowed-host.ts'

/** Sends requests over connections to allowed addresses only. */
export interface SsrfSafeAgent {
  fetch(url: URL, init: RequestInit): Promise<Response>
  /** Sends a GET request. The body is as it was sent: it is not decompressed. */
  get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RawResponse>
  close(): Promise<void>
}

/** The headers of a response, by name in lower case. */
export type ResponseHeaders = Pick<Headers, 'get'>

/** A response without the web streams and headers of `fetch`, which take longer than receiving a small body. */
interface RawResponse {
  status: number
  headers: ResponseHeaders
  body: Readable
}

/** Returns the addresses to connect to. Throws if one of them is not allowed. */
export type AddressResolver = (protocol: string, hostname: string, port: number) => Promise<ResolvedAddress[]>

/**
 * Time limits in milliseconds. `timeLimitMs`: for the response headers, and for each pause in the body. `connectLimit`:
 * for connecting.
 */
interface AgentTimeouts {
  timeLimitMs: number
  connectLimit: number
}

/**
 * Returns an agent that calls `resolveAllowed` for every new connection, and connects only to the addresses that it
 * returns.
 */
export function createSsrfSafeAgent(
  resolveAllowed: AddressResolver,
  { timeLimitMs, connectLimit }: AgentTimeouts,
): SsrfSafeAgent {
  async function connectToAllowed(options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> {
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80))
    let addresses: ResolvedAddress[]
    try {
      addresses = await resolveAllowed(options.protocol, options.hostname, port)
    } catch (error) {
      callback(error as Error, null)
      return
    }
    const connect = createConnector(addresses, connectLimit)
    connect(options, callback)
  }

  const agent = new Agent({
    allowH2: false,
    headersTimeout: timeLimitMs,
    bodyTimeout: timeLimitMs,
    connect: (options, callback) => void connectToAllowed(options, callback),
  })

  return {
    async fetch(url, init) {
      const requestInit = { ...(init as UndiciInit), headers: [...new Headers(init.headers)], dispatcher: agent }
      return (await undiciFetch(url, requestInit)) as unknown as Response
    },
    async get(url, headers, signal) {
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers,
        signal,
      })
      const getHeader = (name: string) => {
        const values = response.headers[name]
        return Array.isArray(values) ? values.join(', ') : (values ?? null)
      }
      return { status: response.statusCode, headers: { get: getHeader }, body: response.body }
    },
    close: () => agent.destroy(),
  }
}

/** Returns a connector that only connects to these addresses. */
const createConnector = (addresses: readonly ResolvedAddress[], timeout: number) =>
  buildConnector({
    timeout,
    lookup: (_host, options, callback) =>
      options.all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family),
  })
