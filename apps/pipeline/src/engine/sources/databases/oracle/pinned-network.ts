import dns from 'node:dns'
import net from 'node:net'
import type { Access } from '../session.ts'

/**
 * Keeps the driver to the addresses that were checked. It takes no socket of ours, looks names up by itself and follows a listener
 * that sends it elsewhere; so in this thread, which has these modules to itself and nothing else to connect to,
 * its host has the checked addresses, other hosts have none, and no other address is connected to.
 */
export function pinNetwork({ addresses, config, opened }: Access): void {
  const admitted = new Set(addresses.map(({ address }) => address))
  const lookup = async (host: string) => {
    if (host.toLowerCase() !== config.host.toLowerCase()) throw elsewhere(host)
    return addresses.map(({ address, family }) => ({ address, family }))
  }
  const connect = net.connect as (port: number | string, host: string, done: () => void) => net.Socket
  const pinned = (port: number | string, host: string, done: () => void): net.Socket => {
    if (admitted.has(host) && Number(port) === config.port) {
      const socket = connect(port, host, done)
      opened.push(socket)
      return socket
    }
    const socket = new net.Socket()
    setImmediate(() => socket.destroy(elsewhere(host)))
    return socket
  }
  Object.assign(dns.promises, { lookup })
  Object.assign(net, { connect: pinned })
}

const elsewhere = (host: string): Error => new Error(`elsewhere: the database sends its clients to ${host}`)
