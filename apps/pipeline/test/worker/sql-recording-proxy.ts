import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A statement that a program sent to PostgreSQL, and the user of its connection. */
export interface SentStatement {
  user: string
  text: string
}

/** A proxy in front of a PostgreSQL server that lists the statements which pass through it. Connections have no TLS. */
export interface StatementProxy extends AsyncDisposable {
  /** Returns the URL through the proxy. */
  url: string
  /** Returns the statements since the last call. */
  take(): SentStatement[]
}

const bindMessage = 0x42
const parseMessage = 0x50
const queryMessage = 0x51

export async function startStatementProxy(target: string): Promise<StatementProxy> {
  const { hostname, port } = new URL(target)
  let statements: SentStatement[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const read = statementReader((statement) => statements.push(statement))
    client.on('data', read)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.pipe(other)
      socket.on('error', () => other.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    take() {
      const taken = statements
      statements = []
      return taken
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * Returns a function that reads the bytes of one connection. The first message, which names the user, has no type. A
 * prepared statement is reported whenever it is bound.
 */
function statementReader(report: (statement: SentStatement) => void): (bytes: Buffer) => void {
  let pending = Buffer.alloc(0)
  let user: string | undefined
  const prepared = new Map<string, string>()
  const readStrings = (body: Buffer) => body.toString().split('\0') as [string, string, ...string[]]
  return (bytes) => {
    pending = Buffer.concat([pending, bytes])
    for (;;) {
      const typeBytes = user === undefined ? 0 : 1
      if (pending.length < typeBytes + 4) return
      const length = pending.readUInt32BE(typeBytes) + typeBytes
      if (pending.length < length) return
      const [type, body] = [pending[0], pending.subarray(typeBytes + 4, length)]
      pending = pending.subarray(length)
      if (user === undefined) user = /\0?user\0([^\0]*)\0/.exec(body.toString())?.[1] ?? ''
      else if (type === queryMessage) report({ user, text: body.subarray(0, -1).toString() })
      else if (type === parseMessage) {
        const [name, text] = readStrings(body)
        prepared.set(name, text)
      } else if (type === bindMessage) {
        const [, name] = readStrings(body)
        report({ user, text: prepared.get(name)! })
      }
    }
  }
}
