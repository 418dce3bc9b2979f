import { describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { ReaderEnded } from '@sluice/row-stream'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { retryDelaySeconds, describeFailure, findOriginalError } from './run-failure.ts'

const away = new WarehouseProblem('WAREHOUSE_UNAVAILABLE', 'Away.', { retryable: true })

describe('run failure', () => {
  it('reports the first error even if the cleanup after it fails several times', async () => {
    const stack = new AsyncDisposableStack()
    for (let times = 0; times < 2; times += 1) stack.defer(() => Promise.reject(new Error('dispose')))
    stack.defer(() => Promise.reject(away))
    const thrown = await stack.disposeAsync().catch((error: unknown) => error)
    expect(thrown).not.toBe(away)
    expect(findOriginalError(thrown)).toBe(away)
    expect(describeFailure(thrown, 'run')).toMatchObject({
      code: 'WAREHOUSE_UNAVAILABLE',
      retryable: true,
      isServerUnavailable: true,
    })
  })

  it('distinguishes an unavailable server from a busy table and from an internal error', () => {
    const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    expect(describeFailure(lost, 'run')).toMatchObject({ code: 'DATABASE_UNAVAILABLE', isServerUnavailable: true })
    const busy = new WarehouseProblem('TABLE_BUSY', 'Busy.', { retryable: true })
    expect(describeFailure(busy, 'run')).toMatchObject({ retryable: true, isServerUnavailable: false })
    expect(describeFailure(new Error('?'), 'run')).toMatchObject({
      code: 'INTERNAL_ERROR',
      retryable: false,
      isServerUnavailable: false,
    })
  })

  it('is retried after a reader thread ended unexpectedly', () => {
    expect(describeFailure(new ReaderEnded('KoboToolbox'), 'run')).toMatchObject({
      code: 'READER_ENDED',
      message: 'The thread that reads KoboToolbox ended unexpectedly. The run is retried.',
      retryable: true,
    })
  })

  it('names the missing key when stored secrets cannot be decrypted', () => {
    const sealed = keyRing(`new:${Buffer.alloc(32, 1).toString('base64')}`).seal('x', 'purpose')
    const ring = keyRing(`old:${Buffer.alloc(32, 2).toString('base64')}`)
    const thrown = (() => {
      try {
        return ring.open(sealed, 'purpose')
      } catch (error) {
        return error
      }
    })()
    const { code, message, expected } = describeFailure(thrown, 'run')
    expect({ code, expected }).toEqual({ code: 'SECRET_KEY_MISSING', expected: true })
    expect(message).toContain('encrypted with key "new", which is missing. Add it to SECRET_KEYS.')
  })

  it('is retried with exponential backoff from 5 seconds up to 5 minutes, with 20 % jitter', () => {
    expect([1, 2, 3, 4, 5, 6, 400].map((tries) => retryDelaySeconds(tries, () => 1))).toEqual([
      5, 15, 45, 135, 300, 300, 300,
    ])
    expect([retryDelaySeconds(9, () => 0), retryDelaySeconds(9, () => 1)]).toEqual([240, 300])
  })
})
