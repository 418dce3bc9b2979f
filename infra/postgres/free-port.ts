import { createServer } from 'node:net'

/** Whether somebody listens on this TCP port of `host`, or we may not. */
export const isTaken = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(true))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(false)))
  })

/** The first free loopback port from `from` on; below the range that outgoing connections borrow their ports from. */
export const freePort = async (from: number, tries = 500): Promise<number> => {
  for (let port = from; port < from + tries; port++) if (!(await isTaken(port))) return port
  throw new Error(`No free TCP port between ${from} and ${from + tries} on 127.0.0.1.`)
}
