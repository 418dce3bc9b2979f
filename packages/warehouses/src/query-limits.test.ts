import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { acquireQuery } from './query-limits.ts'

describe('acquireQuery', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('gives three slots per warehouse, and fails with WAREHOUSE_BUSY after 15 seconds without a slot', async () => {
    const held = await Promise.all([1, 2, 3].map(() => acquireQuery('queries', 'a')))
    const late = acquireQuery('queries', 'a').catch((error: unknown) => error)
    using _other = await acquireQuery('queries', 'b')
    await jest.advanceTimersByTimeAsync(15_000)
    expect(await late).toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    const next = acquireQuery('queries', 'a')
    for (const slot of held) slot[Symbol.dispose]()
    using _mine = await next
  })

  it('rejects if its signal is aborted', async () => {
    const left = AbortSignal.abort(new Error('gone'))
    await expect(acquireQuery('pushes', 'a', left)).rejects.toThrow('gone')
  })
})
