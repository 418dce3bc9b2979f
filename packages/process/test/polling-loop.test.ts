import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { waitForAll, startPollingLoop } from '../src/polling-loop.ts'

/** A delay in milliseconds that is longer than these tests. */
const never = 3_600_000

describe('startPollingLoop', () => {
  it('repeats without a pause while there is more work, and can be stopped during a pause', async () => {
    const rounds: number[] = []
    const loop = startPollingLoop(async () => rounds.push(0) < 5, { rest: never, farewell: never, failed: () => {} })
    while (rounds.length < 5) await sleep(1)
    await loop.stop()
    expect(rounds).toHaveLength(5)
  })

  it('reports a failed round and continues after the error delay', async () => {
    const errors: unknown[] = []
    const moments: number[] = []
    const rounds = startPollingLoop(
      async () => {
        moments.push(performance.now())
        if (moments.length === 1) throw new Error('no luck')
        return false
      },
      { rest: never, afterTrouble: 50, farewell: never, failed: (error) => void errors.push(error) },
    )
    while (moments.length < 2) await sleep(1)
    await rounds.stop()
    expect(errors).toEqual([new Error('no luck')])
    expect(moments[1]! - moments[0]!).toBeGreaterThanOrEqual(49)
  })

  it('finishes the current round on stop, and aborts it after the stop timeout', async () => {
    const begun = Promise.withResolvers<void>()
    const free = Promise.withResolvers<void>()
    let ended = ''
    const patient = startPollingLoop(
      async () => {
        begun.resolve()
        await free.promise
        ended = 'by itself'
        return true
      },
      { rest: never, farewell: never, failed: () => {} },
    )
    await begun.promise
    const stopped = patient.stop()
    free.resolve()
    await stopped
    expect(ended).toBe('by itself')

    const errors: unknown[] = []
    const hanging = startPollingLoop((signal) => sleep(never, true, { signal }), {
      rest: never,
      farewell: 20,
      failed: (error) => void errors.push(error),
    })
    await hanging.stop()
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
