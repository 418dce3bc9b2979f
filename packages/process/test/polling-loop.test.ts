import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { waitForAll, startPollingLoop } from '../src/polling-loop.ts'

/** A delay in milliseconds that is longer than these tests. */
const never = 3_600_000

describe('startPollingLoop', () => {
  it('repeats without a pause while there is more work, and can be stopped during a pause', async () => {
    const rounds: number[] = []
    const loop = startPollingLoop(async () => rounds.push(0) < 5, {
      pauseMs: never,
      stopTimeoutMs: never,
      failed: () => {},
    })
    while (rounds.length < 5) await sleep(1)
    await loop.stop()
    expect(rounds).toHaveLength(5)
  })

  it('reports a failed round and continues after the error delay', async () => {
    const errors: unknown[] = []
    const startTimes: number[] = []
    const rounds = startPollingLoop(
      async () => {
        startTimes.push(performance.now())
        if (startTimes.length === 1) throw new Error('no luck')
        return false
      },
      { pauseMs: never, pauseAfterFailureMs: 50, stopTimeoutMs: never, failed: (error) => void errors.push(error) },
    )
    while (startTimes.length < 2) await sleep(1)
    await rounds.stop()
    expect(errors).toEqual([new Error('no luck')])
    expect(startTimes[1]! - startTimes[0]!).toBeGreaterThanOrEqual(49)
  })

  it('finishes the current round on stop, and aborts it after the stop timeout', async () => {
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    let ended = ''
    const loop = startPollingLoop(
      async () => {
        started.resolve()
        await released.promise
        ended = 'by itself'
        return true
      },
      { pauseMs: never, stopTimeoutMs: never, failed: () => {} },
    )
    await started.promise
    const stopped = loop.stop()
    released.resolve()
    await stopped
    expect(ended).toBe('by itself')

    const errors: unknown[] = []
    const hangingLoop = startPollingLoop((signal) => sleep(never, true, { signal }), {
      pauseMs: never,
      stopTimeoutMs: 20,
      failed: (error) => void errors.push(error),
    })
    await hangingLoop.stop()
    expect(errors).toMatchObject([{ name: 'AbortError' }])
  })
})

describe('waitForAll', () => {
  it('throws the error of the first failed promise in the list after all have settled', async () => {
    const ended: string[] = []
    const work = async (name: string, milliseconds: number) => {
      await sleep(milliseconds)
      ended.push(name)
      if (name !== 'slow') throw new Error(name)
    }
    await expect(waitForAll([work('later', 20), work('slow', 60), work('soon', 1)])).rejects.toThrow('later')
    expect(ended).toEqual(['soon', 'later', 'slow'])
    await expect(waitForAll([work('slow', 1)])).resolves.toBeUndefined()
  })
})
