import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'

export interface Listening {
  server: Server
  /** No new connections; requests under way finish, idle connections end. */
  close(): Promise<void>
}

/** Listens with time-outs against slow and silent peers. Rejects when the port cannot be had. */
export async function listen(app: RequestListener, { port, host }: { port: number; host: string }): Promise<Listening> {
  const server = createServer(
    {
      headersTimeout: 15_000,
      // Uploads may take long; a body that stalls is ended by the upload's own watch.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
    },
    app,
  )
  const silent = new Set<Socket>()
  server.on('connection', (socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.on('request', ({ socket }) => silent.delete(socket))
  // A peer that is silent in the middle of a request for this long is gone.
  server.timeout = 120_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { server, close: () => close(server, silent) }
}

/** A connection that was busy when this began would be kept alive for its next request, which never comes: it goes when it is idle. */
async function close(server: Server, silent: Iterable<Socket>): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  try {
    await new Promise<void>((resolve, reject) => {
      server.close((error) => (error ? reject(error) : resolve()))
      server.closeIdleConnections()
      // Node takes a peer that has asked nothing yet, as browsers open them ahead, for one that is asking.
      for (const socket of silent) socket.destroy()
    })
  } finally {
    clearInterval(sweep)
  }
}
