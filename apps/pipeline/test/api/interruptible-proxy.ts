import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A way to another server that can be shut, as if that server had stopped, and opened again. */
export interface Gate {
  port: number
  shut(): Promise<void>
  open(): Promise<void>
  /**
   * Breaks the next connection that sends `first` and later `last` after the server has answered `last`, and drops that
   * answer.
   */
  loseAnswer(request: { first: string; last: string }): void
}

/** Leads to a port of this machine. */
export async function startGate(target: number): Promise<Gate> {
  const sockets = new Set<Socket>()
  let lost: { first: string; last: string } | undefined
  const server = createServer((coming) => {
    const going = connect(target, '127.0.0.1')
    let matched: typeof lost
    coming.on('data', (data) => {
      if (lost && data.includes(lost.first)) [matched, lost] = [lost, undefined]
      if (!matched || !data.includes(matched.last)) return
      going.unpipe(coming)
      going.once('data', () => coming.destroy()).resume()
    })
    for (const socket of [coming, going]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        coming.destroy()
        going.destroy()
      })
    }
    coming.pipe(going).pipe(coming)
  })
  const open = async (port = 0): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await open()
  return {
    port,
    async shut() {
      if (!server.listening) return
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
    loseAnswer: (request) => void (lost = request),
    open: async () => void (server.listening || (await open(port))),
  }
}
