import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What goes wrong with one request: it is answered at once, or never, or its connection is cut behind so many bytes. */
export interface Trouble {
  silent?: boolean
  status?: number
  headers?: Record<string, string>
  body?: string
  cutAfter?: number
}

export interface TroubledProxy extends AsyncDisposable {
  /** The store's endpoint, by way of here. */
  endpoint: string
  /** Path, range and time of each request. */
  asked: { url: string; range: string | undefined; at: number }[]
  [Symbol.asyncDispose](): Promise<void>
}

/** A proxy to an object store that injects faults. It awaits a fault that is a promise. */
export async function troubledProxy(
  endpoint: string,
  trouble: (url: string, range: string | undefined) => Trouble | undefined | Promise<Trouble | undefined>,
): Promise<TroubledProxy> {
  const target = new URL(endpoint)
  const asked: TroubledProxy['asked'] = []
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { url = '', headers } = incoming
    asked.push({ url, range: headers.range, at: performance.now() })
    const { silent, status, headers: said, body, cutAfter } = (await trouble(url, headers.range)) ?? {}
    if (silent) return
    if (status !== undefined) outgoing.writeHead(status, said).end(body)
    else pass(target, incoming, outgoing, cutAfter)
  }
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}${target.pathname.replace(/\/$/, '')}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The Host header is unchanged, because the signature covers it. */
function pass(target: URL, incoming: IncomingMessage, outgoing: ServerResponse, cutAfter = Infinity): void {
  const { method, url, headers } = incoming
  const onward = request({ host: target.hostname, port: target.port, method, path: url, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    let passed = 0
    answer.on('data', (chunk: Buffer) => {
      const left = Math.max(0, cutAfter - passed)
      passed += chunk.length
      if (passed <= cutAfter) return void outgoing.write(chunk)
      outgoing.write(chunk.subarray(0, left), () => outgoing.destroy())
      answer.destroy()
    })
    answer.on('end', () => outgoing.end())
    answer.on('error', () => outgoing.destroy())
  })
  onward.on('error', () => outgoing.destroy())
  incoming.pipe(onward)
}
