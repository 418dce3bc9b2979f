import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { Semaphore } from '@sluice/process'
import { runWhileConnected } from './abort-on-disconnect.ts'

const one = () => new Semaphore({ total: 1, waiting: 5, title: 'Too many.' }).queueOf('a')

/** Lasts until it is ended, and throws why. */
const endless = (signal: AbortSignal): Promise<string> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

describe('runWhileConnected', () => {
  it('starts the timeout when the work starts, not while it waits in the queue', async () => {
    const queue = one()
    const before = queue(() => sleep(300))
    const asking = { request: { stream: { socket: new Socket() } }, queue, timeoutMs: 200, onTimeout: () => 'late' }
    const worked = runWhileConnected(asking, async (signal) => {
      await sleep(20, undefined, { signal })
      return 'in time'
    })
    expect(await worked).toBe('in time')
    await before
    expect(await runWhileConnected(asking, endless)).toBe('late')
  })

  it('aborts the work when the client closes the connection', async () => {
    const socket = new Socket()
    const begun = Promise.withResolvers<void>()
    const asking = { request: { stream: { socket } }, queue: one(), timeoutMs: 60_000, onTimeout: () => 'late' }
    const worked = runWhileConnected(asking, (signal) => {
      begun.resolve()
      return endless(signal)
    })
    await begun.promise
    socket.destroy()
    await expect(worked).rejects.toThrow('The client closed the connection.')
    expect(socket.listenerCount('close')).toBe(0)
  })

  it('does not start the work if the client disconnected before or while it was queued', async () => {
    const queue = one()
    let begun = 0
    const before = queue(() => sleep(50))
    const socket = new Socket()
    const asking = { request: { stream: { socket } }, queue, timeoutMs: 60_000, onTimeout: () => 0 }
    const work = async () => ++begun
    const waiting = runWhileConnected(asking, work)
    socket.destroy()
    await expect(waiting).rejects.toThrow('The client closed the connection.')
    await expect(runWhileConnected(asking, work)).rejects.toThrow('The client closed the connection.')
    await before
    expect(begun).toBe(0)
  })

  it('rethrows an error of the work when it fails before the timeout', async () => {
    const asking = {
      request: { stream: { socket: new Socket() } },
      queue: one(),
      timeoutMs: 60_000,
      onTimeout: () => 'late',
    }
    await expect(runWhileConnected(asking, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })
})
