import { createServer } from 'node:net'

/** Why a TCP port of `host` cannot be listened on (EADDRINUSE, EACCES, EADDRNOTAVAIL …); undefined: it can. */
export const bindFailure = (port: number, host: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })

/** The first free loopback port from `from` on. Below 32768: outgoing connections borrow the ports above. */
export const freePort = async (from: number, tries = 500): Promise<number> => {
  for (let port = from; port < from + tries; port++) {
    if ((await bindFailure(port, '127.0.0.1')) === undefined) return port
  }
  throw new Error(`No free TCP port between ${from} and ${from + tries} on 127.0.0.1.`)
}
