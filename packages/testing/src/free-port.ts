import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below 32768: outgoing connections borrow the ports above. */
const first = 20_000
const count = 6_000

/**
 * A TCP port of the loopback address that nothing listens at, reserved until this process ends: a program may take seconds to start
 * before it listens, and other test files, in other processes, choose ports at the same time. A reservation is a listener at a second
 * port, `count` above, so the system drops it together with the process.
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

/** A listener that keeps no process alive; undefined where the port is in use. */
async function listenAt(port: number) {
  const server = createServer().unref()
  server.listen({ port, host: '127.0.0.1', exclusive: true })
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
