import { connect, type Socket } from 'node:net'
import type { Access } from './session.ts'

const keepAlive = 30_000

/**
 * An open socket to the first of the addresses that answers. Throws the system's error of the last one that did not; its code is
 * ETIMEDOUT when it took too long.
 */
export async function openSocket({ addresses, config, limits }: Access): Promise<Socket> {
  let failure: unknown
  for (const { address, family } of addresses) {
    try {
      return await reach(address, family, config.port, limits.connect)
    } catch (error) {
      failure = error
    }
  }
  throw failure ?? Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
}

function reach(host: string, family: number, port: number, timeLimit: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, family, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAlive })
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }))
    }, timeLimit)
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}
