import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface StandInRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
  /** Milliseconds of `performance.now()` when the request arrived. */
  at: number
}

export interface StandInResponse {
  /** Default: 200. */
  status?: number
  headers?: Record<string, string>
  /** Sent as JSON unless it is a text. */
  body?: unknown
}

/** Replaces a response: another response, half of the response and a closed connection, or no response at all. */
export type Fault = StandInResponse | 'BREAKS_OFF' | 'SILENT' | undefined

/** A test server on a socket that behaves like a system's documentation, and returns faults on request. */
export interface StandInServer extends AsyncDisposable {
  /** Without a slash at its end. */
  url: string
  requests: StandInRequest[]
  /** Called before each response. */
  fault: (request: StandInRequest) => Fault
  /** The time of the `Date` header; by default, the clock of this machine. */
  clock?: () => Date
  /** Called with each response before it is sent. */
  onResponse?: (request: StandInRequest, response: StandInResponse) => void
  [Symbol.asyncDispose](): Promise<void>
}

export async function startStandInServer(
  respond: (request: StandInRequest) => StandInResponse | Promise<StandInResponse>,
): Promise<StandInServer> {
  const requests: StandInRequest[] = []
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url!, 'http://stand.in')
    const { method = 'GET', headers } = incoming
    const body = await text(incoming)
    const request = { method, path: pathname, query: searchParams, headers, body, at: performance.now() }
    requests.push(request)
    const fault = standIn.fault(request)
    if (fault === 'SILENT') return
    const date = standIn.clock?.().toUTCString()
    const response = typeof fault === 'object' ? fault : await respond(request)
    standIn.onResponse?.(request, response)
    const { status = 200, headers: responseHeaders = {}, body: responseBody = '' } = response
    const bytes = Buffer.from(typeof responseBody === 'string' ? responseBody : JSON.stringify(responseBody))
    outgoing.writeHead(status, {
      'content-type': typeof responseBody === 'string' ? 'text/plain' : 'application/json',
      'content-length': String(bytes.length),
      ...(date !== undefined && { date }),
      ...responseHeaders,
    })
    if (fault !== 'BREAKS_OFF') return void outgoing.end(bytes)
    outgoing.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => outgoing.socket?.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A test process must end even if a test failed before it stopped the server.
  server.unref()
  const standIn: StandInServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fault: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return standIn
}
