import { createServer, type IncomingMessage, request as forward } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** When the connection to a server is lost: before it hears of the n-th request, or before it can say how that went. */
export interface Cut {
  request: number
  heard: boolean
  /** What happens to the server just then. */
  also?(): Promise<void>
}

/**
 * A proxy that forwards requests until `cut` is called, and nothing after that. Calls and awaits `hear` with the user
 * and the text of each request.
 */
export async function cuttingProxy(target: () => string, hear: (user: string, sql: string) => unknown = () => {}) {
  let cut: Cut | undefined
  let seen = 0
  const server = createServer((request, response) => {
    const serve = async () => {
      seen += 1
      const body = await buffer(request)
      const [user = ''] = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64')
        .toString()
        .split(':')
      await hear(user, new URL(request.url ?? '/', target()).searchParams.get('query') ?? body.toString())
      const [now, over] = [cut?.request === seen, cut !== undefined && seen > cut.request]
      if (over || (now && !cut!.heard)) {
        if (now) await cut!.also?.()
        response.destroy()
        return
      }
      const there = new URL(request.url ?? '/', target())
      const sent = forward(there, { method: 'POST', headers: { authorization: request.headers.authorization ?? '' } })
      sent.end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      const text = await buffer(answer)
      if (now) {
        await cut!.also?.()
        response.destroy()
        return
      }
      const code = answer.headers['x-clickhouse-exception-code']
      response.writeHead(answer.statusCode ?? 500, code ? { 'x-clickhouse-exception-code': code } : {})
      response.end(text)
    }
    serve().catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Counts from here on; answers what was counted before. */
    count(next?: Cut): number {
      const before = seen
      seen = 0
      cut = next
      return before
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
