import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { CopyTurns } from './copy-turns.ts'

const never = new AbortController().signal
const chunk = 512 * 1024

/** Copies until it is told to stop; answers how many chunks it had turns for. */
async function copy(client: string, over: AbortSignal): Promise<number> {
  using turns = new CopyTurns(client, never)
  let chunks = 0
  while (!over.aborted) {
    await turns.take(chunk)
    chunks += 1
    // What the server takes for it.
    await sleep(1)
  }
  return chunks
}

it('CopyTurns gives an organisation with one load more turns than each load of an organisation with many loads', async () => {
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

it('CopyTurns releases the turn of a load while it waits for its source', async () => {
  const turns = Array.from({ length: 16 }, (_, at) => new CopyTurns(`slow ${at}`, never))
  const over = new AbortController()
  const waiting = turns.map(async (one) => {
    await one.take(1)
    await one.waitFor(sleep(3_000, undefined, { signal: over.signal }).catch(() => {}))
    one[Symbol.dispose]()
  })
  const begun = performance.now()
  using other = new CopyTurns('b', never)
  await sleep(10)
  await other.take(chunk)
  expect(performance.now() - begun).toBeLessThan(2_500)
  over.abort()
  await Promise.all(waiting)
})
