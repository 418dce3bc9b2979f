import { createServer } from 'node:net'

/** Returns why a TCP port of `host` cannot be opened (EADDRINUSE, EACCES, EADDRNOTAVAIL …); undefined if it can. */
export const bindFailure = (port: number, host: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })

/**
 * Returns the first free loopback port from `from` on. It is below 32768, because outgoing connections use the ports
 * above.
 */
export const freePort = async (from: number, tries = 500): Promise<number> => {
  for (let port = from; port < from + tries; port++) {
    if ((await bindFailure(port, '127.0.0.1')) === undefined) return port
  }
  throw new Error(`No free TCP port between ${from} and ${from + tries} on 127.0.0.1.`)
}
