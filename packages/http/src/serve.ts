import { createServer, type Server } from 'node:http'
import type { Express } from 'express'

export interface Listening {
  server: Server
  /** No new connections; requests under way finish, idle connections end. */
  close(): Promise<void>
}

/** Listens with time-outs against slow and silent peers. Rejects when the port cannot be had. */
export async function listen(app: Express, { port, host }: { port: number; host: string }): Promise<Listening> {
  const server = createServer(
    {
      headersTimeout: 15_000,
      // Uploads may take long; a body that stalls is ended by the upload's own watch.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
    },
    app,
  )
  // A peer that is silent in the middle of a request for this long is gone.
  server.timeout = 120_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { server, close: () => close(server) }
}

/** A connection that was busy when this began would be kept alive for its next request, which never comes: it goes when it is idle. */
async function close(server: Server): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  try {
    await new Promise<void>((resolve, reject) => {
      server.close((error) => (error ? reject(error) : resolve()))
      server.closeIdleConnections()
    })
  } finally {
    clearInterval(sweep)
  }
}
