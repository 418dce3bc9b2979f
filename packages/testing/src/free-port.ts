import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** What this process was given already, and may not have bound yet. */
const given = new Set<number>()

/**
 * A port that nobody listens at, to be bound by a program in a while. It is below those that the system gives to whoever wants any
 * (32768 and more), so nobody comes by it by chance meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (given.has(port)) continue
    given.add(port)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
