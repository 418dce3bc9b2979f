import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { CopySlot } from './copy-concurrency.ts'

const never = new AbortController().signal
const chunk = 512 * 1024

/** Acquires a slot for one chunk after another until `over` aborts. Returns the number of chunks. */
async function copy(client: string, over: AbortSignal): Promise<number> {
  using slot = new CopySlot(client, never)
  let chunks = 0
  while (!over.aborted) {
    await slot.acquire(chunk)
    chunks += 1
    // The server takes this long to copy a chunk.
    await sleep(1)
  }
  return chunks
}

it('CopySlot gives an organisation with one load more chunks than each load of an organisation with many loads', async () => {
  const over = new AbortController()
  const many = Array.from({ length: 4 * Math.max(2, availableParallelism()) }, () => copy('a', over.signal))
  await sleep(50)
  const other = copy('b', over.signal)
  await sleep(1_000)
  over.abort()
  const [chunks, own] = [await Promise.all(many), await other]
  const most = Math.max(...chunks)
  expect(own).toBeGreaterThan(most)
})

it('CopySlot releases the slot of a load while it waits for its source', async () => {
  const slots = Array.from({ length: 16 }, (_, at) => new CopySlot(`slow ${at}`, never))
  const over = new AbortController()
  const waiting = slots.map(async (one) => {
    await one.acquire(1)
    await one.waitFor(sleep(3_000, undefined, { signal: over.signal }).catch(() => {}))
    one[Symbol.dispose]()
  })
  const begun = performance.now()
  using other = new CopySlot('b', never)
  await sleep(10)
  await other.acquire(chunk)
  expect(performance.now() - begun).toBeLessThan(2_500)
  over.abort()
  await Promise.all(waiting)
})
