import { describe, expect, it } from '@jest/globals'
import { type RetryOptions, createBackoff, parseRetryAfter, retry, TransientError } from '../src/retry.ts'

const policy = { attempts: 4, firstDelay: 0.01, maxDelay: 0.02, maxRetryAfter: 0.1 }
const problem = new Error('busy')

/** Returns an operation that fails with each of these errors in order, then succeeds. */
function failingOperation(...errors: Error[]) {
  const calls = { count: 0 }
  const operation = async () => {
    const error = errors[calls.count++]
    if (error) throw error
    return 'done'
  }
  return { calls, operation }
}

/** Returns retry options, and the waits in seconds that they record. */
function recordWaits(changes: Partial<RetryOptions> = {}) {
  const waits: number[] = []
  const options: RetryOptions = {
    policy,
    signal: new AbortController().signal,
    onRetry: (_error, seconds) => void waits.push(seconds),
    ...changes,
  }
  return { waits, options }
}

describe('retry', () => {
  it('repeats transient errors after delays that double up to the maximum, shortened by up to 20 %', async () => {
    const { calls, operation } = failingOperation(...Array.from({ length: 3 }, () => new TransientError(problem)))
    const { waits, options } = recordWaits()
    await expect(retry(operation, options)).resolves.toBe('done')
    expect(calls.count).toBe(4)
    for (const [index, seconds] of [0.01, 0.02, 0.02].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(seconds * 0.8)
      expect(waits[index]).toBeLessThanOrEqual(seconds)
    }
  })

  it('never waits longer than the maximum', async () => {
    const { operation } = failingOperation(...Array.from({ length: 99 }, () => new TransientError(problem)))
    const { waits, options } = recordWaits({ policy: { attempts: 100, firstDelay: 0.001, maxDelay: 0.002 } })
    await retry(operation, options)
    expect(Math.max(...waits)).toBeLessThanOrEqual(0.002)
    expect(new Set(waits).size).toBeGreaterThan(10)
  })

  it('throws the error of the last attempt', async () => {
    const { calls, operation } = failingOperation(...Array.from({ length: 9 }, () => new TransientError(problem)))
    await expect(retry(operation, recordWaits().options)).rejects.toBe(problem)
    expect(calls.count).toBe(4)
  })

  it('throws other errors at once', async () => {
    const { calls, operation } = failingOperation(problem)
    await expect(retry(operation, recordWaits().options)).rejects.toBe(problem)
    expect(calls.count).toBe(1)
  })

  it('waits at least as long as the server requests', async () => {
    const { operation } = failingOperation(new TransientError(problem, 0.05))
    const { waits, options } = recordWaits()
    const start = performance.now()
    await retry(operation, options)
    expect(waits).toEqual([0.05])
    expect(performance.now() - start).toBeGreaterThan(45)
  })

  it('fails without waiting if the server requests a longer pause than the policy allows', async () => {
    const { calls, operation } = failingOperation(new TransientError(problem, 0.2))
    await expect(retry(operation, recordWaits().options)).rejects.toBe(problem)
    expect(calls.count).toBe(1)
  })

  it('throws the reason of the signal, also during a wait', async () => {
    const cancelled = new Error('cancelled')
    const cancel = new AbortController()
    const { operation } = failingOperation(new TransientError(problem, 60))
    const { options } = recordWaits({
      policy: { ...policy, maxRetryAfter: 60 },
      signal: cancel.signal,
      onRetry: () => setTimeout(() => cancel.abort(cancelled), 10),
    })
    await expect(retry(operation, options)).rejects.toBe(cancelled)
    await expect(retry(async () => 'done', options)).rejects.toBe(cancelled)
  })

  it('reports that it is alive during a wait', async () => {
    let alive = 0
    const { operation } = failingOperation(new TransientError(problem))
    await retry(operation, recordWaits({ onAlive: () => void (alive += 1) }).options)
    expect(alive).toBe(1)
  })
})

it('counts attempts from the last progress', async () => {
  const { waits, options } = recordWaits({ policy: { ...policy, attempts: 2 } })
  const backoff = createBackoff(options)
  const transient = new TransientError(problem)
  for (let repetition = 0; repetition < 3; repetition++) {
    await backoff.waitOrThrow(transient)
    backoff.reset()
  }
  await backoff.waitOrThrow(transient)
  await expect(backoff.waitOrThrow(transient)).rejects.toBe(problem)
  expect(waits).toHaveLength(4)
})

it.each([
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-1', 0],
  ['1.5', 1.5],
  ['Thu, 26 Nov 2026 12:01:00 GMT', 60],
  ['Thu, 26 Nov 2026 11:00:00 GMT', 0],
])('the Retry-After header %j is parsed as %j seconds', (value, seconds) => {
  const headers = new Headers(value === undefined ? {} : { 'retry-after': value })
  expect(parseRetryAfter(headers, Date.parse('2026-11-26T12:00:00Z'))).toBe(seconds)
})
