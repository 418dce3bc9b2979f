import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Request {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
  /** When it came. */
  at: number
}

export interface Answer {
  /** 200 when absent. */
  status?: number
  headers?: Record<string, string>
  /** JSON unless it is a text. */
  body?: unknown
}

/** What happens instead of an answer: something else, half of the answer and then nothing, or nothing at all for as long as anybody waits. */
export type Fault = Answer | 'BREAKS_OFF' | 'SILENT' | undefined

/** A server over a socket that speaks as a system's documentation says, and fails when it is told to. */
export interface Server extends AsyncDisposable {
  /** Without a slash at its end. */
  url: string
  requests: Request[]
  /** Asked before each answer. */
  fault: (request: Request) => Fault
  /** What the answers say in `Date`; the time of this machine where it is absent. */
  clock?: () => Date
  /** Told each answer that is given. */
  answered?: (request: Request, answer: Answer) => void
  [Symbol.asyncDispose](): Promise<void>
}

export async function startServer(answer: (request: Request) => Answer | Promise<Answer>): Promise<Server> {
  const requests: Request[] = []
  const server = createServer((incoming, response) => {
    respond(incoming, response).catch(() => response.destroy())
  })

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url!, 'http://stand.in')
    const { method = 'GET', headers } = incoming
    const body = await text(incoming)
    const request = { method, path: pathname, query: searchParams, headers, body, at: performance.now() }
    requests.push(request)
    const fault = started.fault(request)
    if (fault === 'SILENT') return
    const date = started.clock?.().toUTCString()
    const given = typeof fault === 'object' ? fault : await answer(request)
    started.answered?.(request, given)
    const { status = 200, headers: more = {}, body: said = '' } = given
    const sent = Buffer.from(typeof said === 'string' ? said : JSON.stringify(said))
    response.writeHead(status, {
      'content-type': typeof said === 'string' ? 'text/plain' : 'application/json',
      'content-length': String(sent.length),
      ...(date !== undefined && { date }),
      ...more,
    })
    if (fault !== 'BREAKS_OFF') return void response.end(sent)
    response.write(sent.subarray(0, Math.ceil(sent.length / 2)), () => response.socket?.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A test that failed before it stopped this one is to end all the same.
  server.unref()
  const started: Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fault: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return started
}
