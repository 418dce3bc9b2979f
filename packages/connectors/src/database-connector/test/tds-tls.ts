import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { inPackets, kinds } from '@sluice/warehouses/testing/packets'

const header = 8

/** The server's side of TLS as TDS has it: its handshake is in packets of TDS, and all that follows is not. */
export function tlsInTds(socket: Socket, certificate: { key: string | Buffer; cert: string | Buffer }): TLSSocket {
  let inside = true
  let held = Buffer.alloc(0)
  const tunnel = new Duplex({
    read() {
      socket.resume()
    },
    write(bytes: Buffer, _encoding, done) {
      socket.write(inside ? inPackets(bytes) : bytes, () => done())
    },
  })
  socket.on('close', () => tunnel.destroy())
  socket.on('data', (bytes: Buffer) => {
    if (!inside) return void tunnel.push(bytes)
    held = Buffer.concat([held, bytes])
    while (held[0] === kinds.preLogin && held.length >= held.readUInt16BE(2)) {
      tunnel.push(held.subarray(header, held.readUInt16BE(2)))
      held = held.subarray(held.readUInt16BE(2))
    }
    // The client speaks first once both can.
    if (held.length === 0 || held[0] === kinds.preLogin) return
    inside = false
    tunnel.push(held)
  })
  return new TLSSocket(tunnel, { isServer: true, ...certificate })
}
