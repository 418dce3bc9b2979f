import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Semaphore } from '../src/index.ts'

/** Acquires a slot, and adds the name of the request, and its error if it failed, to `events`. */
const acquireFrom =
  (semaphore: Semaphore, events: string[]) =>
  (key: string, name: string, share: object = {}) =>
    semaphore.acquire(key, share).then(
      (slot) => {
        events.push(name)
        return slot
      },
      (error: Error) => {
        events.push(`${name}: ${error.name === 'Error' ? error.message : error.name}`)
        return undefined
      },
    )

describe('a semaphore', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())
  const settled = () => jest.advanceTimersByTimeAsync(0)

  it('limits the slots of a key, and gives the last free slot only to a key without one', async () => {
    const semaphore = new Semaphore({ total: 4, waiting: 10, title: 'busy' })
    const events: string[] = []
    const take = acquireFrom(semaphore, events)
    for (let index = 1; index <= 5; index += 1) void take('a', `a${index}`)
    await settled()
    expect(events).toEqual(['a1', 'a2', 'a3'])
    void take('b', 'b1')
    await settled()
    expect(events.at(-1)).toBe('b1')
    expect(semaphore.tryAcquire('c')).toBeUndefined()
  })

  it('gives a free slot to the waiting key with the fewest slots, then to the longest waiting request', async () => {
    const semaphore = new Semaphore({ total: 3, each: 3, waiting: 10, title: 'busy' })
    const events: string[] = []
    const take = acquireFrom(semaphore, events)
    const a1 = await take('a', 'a1')
    const a2 = await take('a', 'a2')
    const b1 = await take('b', 'b1')
    void take('a', 'a3')
    void take('b', 'b2')
    void take('c', 'c1')
    void take('d', 'd1')
    await settled()
    a1![Symbol.dispose]()
    // A second disposal has no effect.
    a1![Symbol.dispose]()
    await settled()
    expect(events.slice(3)).toEqual(['c1'])
    a2![Symbol.dispose]()
    await settled()
    // Neither a nor d holds a slot now, and a3 has waited longer.
    expect(events.slice(3)).toEqual(['c1', 'a3'])
    b1![Symbol.dispose]()
    await settled()
    expect(events.slice(3)).toEqual(['c1', 'a3', 'b2'])
  })

  it('keeps slots free from keys with `leave`', async () => {
    const semaphore = new Semaphore({ total: 3, waiting: 10, title: 'busy' })
    expect(semaphore.tryAcquire('anonymous a', { leave: 2 })).toBeDefined()
    expect(semaphore.tryAcquire('anonymous b', { leave: 2 })).toBeUndefined()
    expect(semaphore.tryAcquire('b')).toBeDefined()
  })

  it('limits the number and time of waiting requests per key, and removes aborted ones', async () => {
    const semaphore = new Semaphore({ total: 1, waiting: 2, waitMs: 15_000, title: 'busy' })
    const events: string[] = []
    const take = acquireFrom(semaphore, events)
    const held = await take('a', 'a')
    const leaving = new AbortController()
    void take('a', 'b')
    void take('a', 'c', { signal: leaving.signal })
    void take('a', 'd')
    await settled()
    expect(events).toEqual(['a', 'd: SemaphoreBusy'])
    leaving.abort(new Error('gone'))
    await jest.advanceTimersByTimeAsync(10_000)
    void take('other', 'e')
    await jest.advanceTimersByTimeAsync(5_000)
    expect(events).toEqual(['a', 'd: SemaphoreBusy', 'c: gone', 'b: SemaphoreBusy'])
    expect([semaphore.waiting('a'), semaphore.waiting()]).toEqual([0, 1])
    held![Symbol.dispose]()
    await settled()
    expect(events.at(-1)).toBe('e')
    await take('a', 'f', { signal: leaving.signal })
    expect(events.at(-1)).toBe('f: gone')
  })

  it('releases the slot if the work fails', async () => {
    const semaphore = new Semaphore({ total: 1, waiting: 1, title: 'busy' })
    await expect(semaphore.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await semaphore.run('b', async () => 'done')).toBe('done')
  })

  it('is shared as long as another key holds a slot or waits for one', async () => {
    const semaphore = new Semaphore({ total: 1, waiting: 1, title: 'busy' })
    expect(semaphore.isShared('a')).toBe(false)
    const held = await semaphore.acquire('a')
    expect([semaphore.isShared('a'), semaphore.isShared('b')]).toEqual([false, true])
    const waiting = semaphore.acquire('b')
    expect(semaphore.isShared('a')).toBe(true)
    held[Symbol.dispose]()
    const next = await waiting
    expect([semaphore.isShared('a'), semaphore.isShared('b')]).toEqual([true, false])
    next[Symbol.dispose]()
    expect(semaphore.isShared('a')).toBe(false)
  })
})
