import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { acquireQuerySlot } from './query-limits.ts'

describe('acquireQuerySlot', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('gives three slots per warehouse, and fails with WAREHOUSE_BUSY after 15 seconds without a slot', async () => {
    const held = await Promise.all([1, 2, 3].map(() => acquireQuerySlot('queries', 'a')))
    const late = acquireQuerySlot('queries', 'a').catch((error: unknown) => error)
    using _other = await acquireQuerySlot('queries', 'b')
    await jest.advanceTimersByTimeAsync(15_000)
    expect(await late).toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    const next = acquireQuerySlot('queries', 'a')
    for (const slot of held) slot[Symbol.dispose]()
    using _mine = await next
  })

  it('rejects if its signal is aborted', async () => {
    const left = AbortSignal.abort(new Error('gone'))
    await expect(acquireQuerySlot('pushes', 'a', left)).rejects.toThrow('gone')
  })
})
