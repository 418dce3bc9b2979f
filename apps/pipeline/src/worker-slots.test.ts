import { describe, expect, it } from '@jest/globals'
import { readConfig } from './config.ts'
import { computeDefaultSlots, computeThreadHeap } from './worker-slots.ts'

const megabytes = (count: number) => count * 1024 * 1024
const environment = {
  PIPELINE_DATABASE_URL: 'postgres://a:b@localhost/c',
  WAREHOUSE_DATABASE_URL: 'postgres://a:b@localhost/c',
  SECRET_KEYS: `a:${Buffer.alloc(32).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/files',
}

describe('worker slots', () => {
  it.each([
    [256, 2],
    [512, 3],
    [768, 6],
    [1024, 8],
    [64_000, 8],
  ])('with %i MB of memory default to %i', (memory, slots) => {
    expect(computeDefaultSlots(megabytes(memory))).toBe(slots)
  })

  it.each([
    [256, 2, 96],
    [512, 3, 160],
    [1024, 8, 192],
    [1024, 4, 576],
    [2048, 8, 768],
    [64_000, 64, 768],
  ])('with %i MB of memory and %i slots give a thread for an HTTP system %i MB', (memory, slots, heap) => {
    expect(computeThreadHeap(slots, megabytes(memory))).toBe(heap)
  })

  it.each([256, 384, 512, 768, 1024, 2048, 4096])('leave room in %i MB for one large read', (memory) => {
    const slots = computeDefaultSlots(megabytes(memory))
    expect(160 + (slots - 1) * 96 + computeThreadHeap(slots, megabytes(memory))).toBeLessThanOrEqual(
      Math.max(memory, 352),
    )
  })

  it.each([
    [{ WORKER_CONCURRENCY: '8' }, 4],
    [{ WORKER_CONCURRENCY: '1' }, 1],
    [{ WORKER_CONCURRENCY: '8', CLIENT_CONCURRENCY: '6' }, 6],
  ])('with %j are limited to %i per organisation', (changes, most) => {
    expect(readConfig({ ...environment, ...changes }).CLIENT_CONCURRENCY).toBe(most)
  })
})
