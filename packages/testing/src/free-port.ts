import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The first port, and the number of ports. All are below 32768, because the system assigns higher ports to outgoing
 * connections.
 */
const first = 20_000
const count = 6_000

/**
 * Returns a free TCP port of the loopback address. Reserves it against other test processes until this process ends,
 * because a program may take seconds until it listens. The reservation is a listener at a second port, `count` above,
 * which the system closes when this process ends.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + randomInt(count)
    const reservation = await listenAt(port + count)
    if (!reservation) continue
    const probe = await listenAt(port)
    if (!probe) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}

/** Returns a listener that does not keep the process alive, or undefined if the port is in use. */
async function listenAt(port: number) {
  const server = createServer().unref()
  server.listen({ port, host: '127.0.0.1', exclusive: true })
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
