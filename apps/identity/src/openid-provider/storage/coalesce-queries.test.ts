import { expect, it } from '@jest/globals'
import { coalesceQueries } from './coalesce-queries.ts'

/** A coalesced function, and its started queries, which the test completes. */
function controlledQueries() {
  const started: { key: string; complete(value: string): void; fail(): void }[] = []
  const find = coalesceQueries(
    (key) =>
      new Promise<string>((complete, reject) => started.push({ key, complete, fail: () => reject(new Error('down')) })),
  )
  return { started, find }
}
const shortPause = () => new Promise((resolve) => setTimeout(resolve, 5))

it('calls during a running query share the next query', async () => {
  const { started, find } = controlledQueries()
  const first = find('a')
  const others = [find('a'), find('a'), find('a')]
  expect(started).toHaveLength(1)
  started[0]!.complete('old')
  expect(await first).toBe('old')
  await shortPause()
  expect(started).toHaveLength(2)
  const late = find('a')
  started[1]!.complete('new')
  expect(await Promise.all(others)).toEqual(['new', 'new', 'new'])
  await shortPause()
  started[2]!.complete('newest')
  expect(await late).toBe('newest')
})

it('a call starts a query immediately if none runs for its key', async () => {
  const { started, find } = controlledQueries()
  void find('a')
  void find('b')
  expect(started.map(({ key }) => key)).toEqual(['a', 'b'])
  started[0]!.complete('x')
  await shortPause()
  void find('a')
  expect(started.map(({ key }) => key)).toEqual(['a', 'b', 'a'])
})

it('a failed query rejects its own calls only', async () => {
  const { started, find } = controlledQueries()
  const first = find('a')
  const second = find('a')
  started[0]!.fail()
  await expect(first).rejects.toThrow('down')
  await shortPause()
  started[1]!.complete('up')
  expect(await second).toBe('up')
})
