import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import {
  createBatchedLookupCache,
  createLookupCache,
  orAbsent,
  RemoteProblem,
  ServiceUnavailable,
} from '../src/index.ts'

const down = new ServiceUnavailable('unreachable', 'identity cannot be reached.')
const lasting = { ttl: 60_000, max: 100 }

/** A source of names that counts its readings and can be down. */
function names(known: Record<string, string>) {
  const source = {
    known,
    down: undefined as unknown,
    asked: [] as string[][],
    async readMany(keys: string[]) {
      source.asked.push(keys)
      await pause(10)
      if (source.down) throw source.down
      return new Map(keys.flatMap((key) => (source.known[key] ? [[key, source.known[key]] as const] : [])))
    },
    read: async (key: string) => (await source.readMany([key])).get(key),
  }
  return source
}

it('reads once for all who ask at the same time, and remembers', async () => {
  const source = names({ a: 'Ada' })
  const users = createLookupCache(source.read, lasting)
  expect(await Promise.all(Array.from({ length: 50 }, () => users.get('a')))).toEqual(Array(50).fill('Ada'))
  await users.get('a')
  expect(source.asked).toEqual([['a']])
})

it('asks together for those that are neither remembered nor on their way', async () => {
  const source = names({ a: 'Ada', b: 'Bo', c: 'Cy', d: 'Di' })
  const users = createBatchedLookupCache(source.readMany, lasting)
  await users.get('a')
  const [first, second] = await Promise.all([users.getMany(['a', 'b', 'b', 'x']), users.getMany(['d', 'c', 'b', 'a'])])
  expect([...first]).toEqual([
    ['a', 'Ada'],
    ['b', 'Bo'],
  ])
  expect([...second]).toEqual([
    ['d', 'Di'],
    ['c', 'Cy'],
    ['b', 'Bo'],
    ['a', 'Ada'],
  ])
  expect(source.asked).toEqual([['a'], ['b', 'x'], ['d', 'c']])
})

it('cuts what is asked together into calls that the service takes', async () => {
  const source = names({ a: 'Ada', c: 'Cy' })
  const users = createBatchedLookupCache(source.readMany, { ...lasting, atOnce: 2 })
  expect([...(await users.getMany(['a', 'b', 'c']))]).toEqual([
    ['a', 'Ada'],
    ['c', 'Cy'],
  ])
  expect(source.asked).toEqual([['a', 'b'], ['c']])
})

it('asks again once a value is too old, and sooner for what was not there', async () => {
  const source = names({ a: 'Ada' })
  const users = createBatchedLookupCache(source.readMany, { ttl: 3_000, missingTtl: 500, max: 10 })
  await users.getMany(['a', 'b'])
  await users.getMany(['a', 'b'])
  await pause(550)
  source.known = { a: 'Ada L.', b: 'Bo' }
  expect([...(await users.getMany(['a', 'b']))]).toEqual([
    ['a', 'Ada'],
    ['b', 'Bo'],
  ])
  await pause(3_000)
  expect(await users.get('a')).toBe('Ada L.')
  expect(source.asked).toEqual([['a', 'b'], ['b'], ['a']])
})

it('serves what it remembers while the service is unavailable, for so long and no longer', async () => {
  const source = names({ a: 'Ada' })
  const users = createLookupCache(source.read, { ttl: 20, staleFor: 2_500, max: 10 })
  await users.get('a')
  source.down = down
  await pause(30)
  expect(await users.get('a')).toBe('Ada')
  await expect(users.get('b')).rejects.toBe(down)
  await pause(2_550)
  await expect(users.get('a')).rejects.toBe(down)
  source.down = undefined
  expect(await users.get('a')).toBe('Ada')
})

it('does not say "not there" because it was not there before the service went away', async () => {
  const source = names({})
  const users = createLookupCache(source.read, { ttl: 20, staleFor: 10_000, max: 10 })
  expect(await users.get('a')).toBeUndefined()
  source.down = down
  await pause(30)
  await expect(users.get('a')).rejects.toBe(down)
})

it('does not hide behind old values what the service says', async () => {
  const source = names({ a: 'Ada' })
  const users = createLookupCache(source.read, { ttl: 5, staleFor: 10_000, max: 10 })
  await users.get('a')
  source.known = {}
  await pause(10)
  expect(await users.get('a')).toBeUndefined()
  source.down = new Error('a bug')
  await pause(10)
  await expect(users.get('a')).rejects.toThrow('a bug')
})

it('neither remembers failures nor answers that were on their way when they were forgotten', async () => {
  const source = names({ a: 'Ada' })
  const users = createLookupCache(source.read, lasting)
  source.down = down
  await expect(Promise.all([users.get('a'), users.get('a')])).rejects.toBe(down)
  source.down = undefined
  const old = users.get('a')
  users.forget('a')
  source.known = { a: 'Ada L.' }
  await old
  source.known = { a: 'Ada K.' }
  expect(await users.get('a')).toBe('Ada K.')
  expect(source.asked).toHaveLength(3)
})

it('reads a value that may not be remembered for every request, also while another reading is under way', async () => {
  const source = names({ a: 'Ada' })
  const users = createLookupCache(source.read, { ...lasting, staleFor: 10_000, mayRemember: (name) => name !== 'Ada' })
  const before = users.get('a')
  await pause(2)
  // The readings that arrive while the first is under way share one that began after they arrived.
  const during = Promise.all([users.get('a'), users.get('a'), users.get('a')])
  await Promise.all([before, during])
  expect(source.asked).toHaveLength(2)
  source.known = { a: 'Bea' }
  expect(await users.get('a')).toBe('Bea')
  expect(await users.get('a')).toBe('Bea')
  expect(source.asked).toHaveLength(3)
})

it('answers no older value in place of one that may not be remembered', async () => {
  const source = names({ a: 'Bea' })
  const users = createLookupCache(source.read, {
    ttl: 5,
    staleFor: 10_000,
    max: 10,
    mayRemember: (name) => name !== 'Ada',
  })
  await users.get('a')
  source.known = { a: 'Ada' }
  await pause(10)
  expect(await users.get('a')).toBe('Ada')
  source.down = down
  await expect(users.get('a')).rejects.toBe(down)
})

it('keeps no more than it is told to', async () => {
  const source = names({ a: 'Ada', b: 'Bo', c: 'Cy' })
  const users = createBatchedLookupCache(source.readMany, { ...lasting, max: 2 })
  expect((await users.getMany(['a', 'b', 'c'])).size).toBe(3)
  await users.getMany(['a', 'b', 'c'])
  expect(source.asked).toEqual([['a', 'b', 'c'], ['a']])
})

it('takes 404 for absence and nothing else', async () => {
  const problem = (status: number) => new RemoteProblem({ type: 'urn:problem:x', title: 'No.', status, code: 'x' })
  expect(await orAbsent(Promise.reject(problem(404)))).toBeUndefined()
  await expect(orAbsent(Promise.reject(problem(403)))).rejects.toThrow(RemoteProblem)
  expect(await orAbsent(Promise.resolve(1))).toBe(1)
})

it('answers what it remembers when the service hangs, and takes the newer answer when it comes', async () => {
  const answers = ['Ada', 'Ada Lovelace']
  let delay = 0
  const users = createLookupCache(
    async () => {
      const answer = answers.shift()
      await pause(delay)
      return answer
    },
    { ttl: 1, staleFor: 60_000, max: 10 },
  )
  await users.get('a')
  delay = 2_000
  await pause(5)
  expect(await users.get('a')).toBe('Ada')
  await pause(2_200)
  answers.push('Ada King')
  expect(await users.get('a')).toBe('Ada Lovelace')
})
