import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/** How one request is treated. */
export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const problem = (status: number, code: string, headers: Record<string, string> = {}): Behaviour =>
  json(
    status,
    { type: `urn:problem:${code}`, title: 'It failed.', status, detail: 'Because of this.', code, requestId: 'r-1' },
    { 'content-type': 'application/problem+json', ...headers },
  )

export const text =
  (status: number, body: string, type: string): Behaviour =>
  (response) =>
    response.writeHead(status, { 'content-type': type }).end(body)

export const reset: Behaviour = (_response, request) => request.socket.resetAndDestroy()
export const hang: Behaviour = () => {}
/** Promises more than it sends. */
export const breakOff: Behaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('[', () => response.destroy())
}

/** A real server that treats its requests as scripted, the last behaviour for all that follow. */
export async function scriptedServer(...script: Behaviour[]) {
  const asked: Asked[] = []
  const listener: RequestListener = (request, response) => {
    const behave = script.length > 1 ? script.shift() : script[0]
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('error', () => {})
    request.on('end', () => {
      asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      behave?.(response, request)
    })
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    /** What happens from the next request on. */
    now(...behaviours: Behaviour[]) {
      script.splice(0, script.length, ...behaviours)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
