import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Whether somebody listens where a warehouse is; throws what the system says where nobody does within two seconds. It is not asked for more: a
 * statement would wake a serverless warehouse every few seconds, which costs its owner money.
 */
export async function demandReachable(url: string, usualPort: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || usualPort) })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2_000) })
  } finally {
    socket.destroy()
  }
}
