import { afterAll } from '@jest/globals'
import { createServer, type Server, type Socket } from 'node:net'
import type { DatabaseConfig } from '../database-config.ts'

/** A database as people name it, which no server in these tests is. */
export const somewhere: DatabaseConfig = {
  kind: 'postgres',
  host: 'source.example',
  port: 1,
  database: 'shop',
  username: 'reader',
  password: 'a-password-of-somebody',
  ssl: false,
  trustServerCertificate: false,
  query: 'select 1',
}

/** Servers that answer bytes, for the tests of one `describe`: gone after them. */
export function rawServers() {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  /** Answers its port on the loopback. */
  return async (answer: (socket: Socket) => void): Promise<number> => {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      answer(socket)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as { port: number }).port
  }
}
