import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { acquireQuery } from './query-limits.ts'

describe('slots for queries', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('are three of a warehouse, and waited for 15 seconds, while others are not kept', async () => {
    const held = await Promise.all([1, 2, 3].map(() => acquireQuery('queries', 'a')))
    const late = acquireQuery('queries', 'a').catch((error: unknown) => error)
    using _other = await acquireQuery('queries', 'b')
    await jest.advanceTimersByTimeAsync(15_000)
    expect(await late).toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    const next = acquireQuery('queries', 'a')
    for (const slot of held) slot[Symbol.dispose]()
    using _mine = await next
  })

  it('are not waited for by a caller who left', async () => {
    const left = AbortSignal.abort(new Error('gone'))
    await expect(acquireQuery('pushes', 'a', left)).rejects.toThrow('gone')
  })
})
