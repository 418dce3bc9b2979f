import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'

export interface ListeningServer {
  server: Server
  /** Stops accepting connections, waits for running requests, and closes idle connections. */
  close(): Promise<void>
}

/** Starts an HTTP server with time limits for slow and silent clients. Rejects if the port is not available. */
export async function listen(
  app: RequestListener,
  { port, host }: { port: number; host: string },
): Promise<ListeningServer> {
  const server = createServer(
    {
      headersTimeout: 15_000,
      // No limit, because uploads can take long. The code that reads an upload ends a request if its body stalls.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
    },
    app,
  )
  // Connections that have not sent a request yet.
  const unusedSockets = new Set<Socket>()
  server.on('connection', (socket) => {
    unusedSockets.add(socket)
    socket.once('close', () => unusedSockets.delete(socket))
  })
  server.on('request', ({ socket }) => unusedSockets.delete(socket))
  // Closes a connection after this many milliseconds without data in the middle of a request.
  server.timeout = 120_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { server, close: () => closeServer(server, unusedSockets) }
}

/**
 * Closes connections as they become idle. Otherwise the server would wait for kept-alive connections without requests.
 */
async function closeServer(server: Server, unusedSockets: Iterable<Socket>): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  try {
    await new Promise<void>((resolve, reject) => {
      server.close((error) => (error ? reject(error) : resolve()))
      server.closeIdleConnections()
      // Browsers open connections in advance. Node counts a connection without a request as active, so these are closed
      // here.
      for (const socket of unusedSockets) socket.destroy()
    })
  } finally {
    clearInterval(sweep)
  }
}
