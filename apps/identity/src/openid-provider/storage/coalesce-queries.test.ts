import { expect, it } from '@jest/globals'
import { coalesceQueries } from './coalesce-queries.ts'

/** A question that is answered by hand. */
function asked() {
  const open: { key: string; answer(value: string): void; fail(): void }[] = []
  const ask = coalesceQueries(
    (key) => new Promise<string>((answer, reject) => open.push({ key, answer, fail: () => reject(new Error('down')) })),
  )
  return { open, ask }
}
const soon = () => new Promise((resolve) => setTimeout(resolve, 5))

it('shares a query that starts after the calls that share it', async () => {
  const { open, ask } = asked()
  const first = ask('a')
  const others = [ask('a'), ask('a'), ask('a')]
  expect(open).toHaveLength(1)
  open[0]!.answer('old')
  expect(await first).toBe('old')
  await soon()
  expect(open).toHaveLength(2)
  const late = ask('a')
  open[1]!.answer('new')
  expect(await Promise.all(others)).toEqual(['new', 'new', 'new'])
  await soon()
  open[2]!.answer('newest')
  expect(await late).toBe('newest')
})

it('starts a new query when none runs, and concurrent queries for different keys', async () => {
  const { open, ask } = asked()
  void ask('a')
  void ask('b')
  expect(open.map(({ key }) => key)).toEqual(['a', 'b'])
  open[0]!.answer('x')
  await soon()
  void ask('a')
  expect(open.map(({ key }) => key)).toEqual(['a', 'b', 'a'])
})

it('goes on after a failure', async () => {
  const { open, ask } = asked()
  const first = ask('a')
  const second = ask('a')
  open[0]!.fail()
  await expect(first).rejects.toThrow('down')
  await soon()
  open[1]!.answer('up')
  expect(await second).toBe('up')
})
