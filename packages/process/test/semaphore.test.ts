import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Semaphore } from '../src/index.ts'

/** Takes a slot, and notes it. */
const takeFrom =
  (semaphore: Semaphore, noted: string[]) =>
  (key: string, name: string, share: object = {}) =>
    semaphore.acquire(key, share).then(
      (slot) => {
        noted.push(name)
        return slot
      },
      (error: Error) => {
        noted.push(`${name}: ${error.name === 'Error' ? error.message : error.name}`)
        return undefined
      },
    )

describe('a semaphore', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())
  const settled = () => jest.advanceTimersByTimeAsync(0)

  it('gives no key more than its share, and the last free slot only to a key that holds none', async () => {
    const semaphore = new Semaphore({ total: 4, waiting: 10, title: 'busy' })
    const noted: string[] = []
    const take = takeFrom(semaphore, noted)
    for (let at = 1; at <= 5; at += 1) void take('a', `a${at}`)
    await settled()
    expect(noted).toEqual(['a1', 'a2', 'a3'])
    void take('b', 'b1')
    await settled()
    expect(noted.at(-1)).toBe('b1')
    expect(semaphore.tryAcquire('c')).toBeUndefined()
  })

  it('gives a slot to the key that holds the fewest, then to the one that waits longest', async () => {
    const semaphore = new Semaphore({ total: 3, each: 3, waiting: 10, title: 'busy' })
    const noted: string[] = []
    const take = takeFrom(semaphore, noted)
    const a1 = await take('a', 'a1')
    const a2 = await take('a', 'a2')
    const b1 = await take('b', 'b1')
    void take('a', 'a3')
    void take('b', 'b2')
    void take('c', 'c1')
    void take('d', 'd1')
    await settled()
    a1![Symbol.dispose]()
    // Once is once.
    a1![Symbol.dispose]()
    await settled()
    expect(noted.slice(3)).toEqual(['c1'])
    a2![Symbol.dispose]()
    await settled()
    // Now neither a nor d holds any, and a3 has waited longer.
    expect(noted.slice(3)).toEqual(['c1', 'a3'])
    b1![Symbol.dispose]()
    await settled()
    expect(noted.slice(3)).toEqual(['c1', 'a3', 'b2'])
  })

  it('leaves slots free of those who have a smaller share', async () => {
    const semaphore = new Semaphore({ total: 3, waiting: 10, title: 'busy' })
    expect(semaphore.tryAcquire('anonymous a', { leave: 2 })).toBeDefined()
    expect(semaphore.tryAcquire('anonymous b', { leave: 2 })).toBeUndefined()
    expect(semaphore.tryAcquire('b')).toBeDefined()
  })

  it('limits how many of a key wait and for how long, and drops those that left', async () => {
    const semaphore = new Semaphore({ total: 1, waiting: 2, waitMs: 15_000, title: 'busy' })
    const noted: string[] = []
    const take = takeFrom(semaphore, noted)
    const held = await take('a', 'a')
    const leaving = new AbortController()
    void take('a', 'b')
    void take('a', 'c', { signal: leaving.signal })
    void take('a', 'd')
    await settled()
    expect(noted).toEqual(['a', 'd: SemaphoreBusy'])
    leaving.abort(new Error('gone'))
    await jest.advanceTimersByTimeAsync(10_000)
    void take('other', 'e')
    await jest.advanceTimersByTimeAsync(5_000)
    expect(noted).toEqual(['a', 'd: SemaphoreBusy', 'c: gone', 'b: SemaphoreBusy'])
    expect([semaphore.waiting('a'), semaphore.waiting()]).toEqual([0, 1])
    held![Symbol.dispose]()
    await settled()
    expect(noted.at(-1)).toBe('e')
    await take('a', 'f', { signal: leaving.signal })
    expect(noted.at(-1)).toBe('f: gone')
  })

  it('gives the slot back when the work fails', async () => {
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
