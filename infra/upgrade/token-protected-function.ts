import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'

/** A function for pipelines of type FUNCTION. Returns two rows to callers with the token, and 401 to others. */
export interface TokenServer extends AsyncDisposable {
  url: string
  token: string
}

export async function startTokenServer(): Promise<TokenServer> {
  const token = randomBytes(12).toString('hex')
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${token}`
    response.statusCode = isKnown ? 200 : 401
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isKnown ? { rows: [{ id: 1 }, { id: 2 }], key: ['id'] } : { error: 'Unknown token.' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/rows`,
    token,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
