import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { ServiceUnavailable } from '@sluice/client'
import { batchLookups, lookupCache } from './lookup-cache.ts'

const down = new ServiceUnavailable('unreachable', 'identity cannot be reached.')
const lasting = { ttl: 60_000, max: 100 }

/** A source of names that records its reads and can be down. */
function names(known: Record<string, string>) {
  const source = {
    known,
    down: undefined as unknown,
    reads: [] as string[][],
    async readMany(keys: string[]) {
      source.reads.push(keys)
      await pause(10)
      if (source.down) throw source.down
      return new Map(keys.flatMap((key) => (source.known[key] ? [[key, source.known[key]] as const] : [])))
    },
    read: async (key: string) => (await source.readMany([key])).get(key),
  }
  return source
}

it('concurrent look-ups of a key share one read, and later look-ups use the cached value', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, lasting)
  expect(await Promise.all(Array.from({ length: 50 }, () => find('a')))).toEqual(Array(50).fill('Ada'))
  expect(await find('a')).toBe('Ada')
  expect(source.reads).toEqual([['a']])
})

it('keys requested in one tick that are neither cached nor being read are read in one batch', async () => {
  const source = names({ a: 'Ada', b: 'Bo', c: 'Cy', d: 'Di' })
  const find = lookupCache(batchLookups(source.readMany), lasting)
  const findAll = (...keys: string[]) => Promise.all(keys.map(find))
  await find('a')
  const first = findAll('a', 'b', 'b', 'x')
  await pause(2)
  expect(await Promise.all([first, findAll('d', 'c', 'b', 'a')])).toEqual([
    ['Ada', 'Bo', 'Bo', undefined],
    ['Di', 'Cy', 'Bo', 'Ada'],
  ])
  expect(source.reads).toEqual([['a'], ['b', 'x'], ['d', 'c']])
})

it('a value is read again after its TTL, and a missing value after one second', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ttl: 3_000, max: 10 })
  for (const key of ['a', 'b', 'a', 'b']) await find(key)
  await pause(1_050)
  source.known = { a: 'Ada L.', b: 'Bo' }
  expect([await find('a'), await find('b')]).toEqual(['Ada', 'Bo'])
  await pause(3_000)
  expect(await find('a')).toBe('Ada L.')
  expect(source.reads).toEqual([['a'], ['b'], ['b'], ['a']])
})

it('the TTL of a value starts when its read starts', async () => {
  let reads = 0
  const find = lookupCache(
    async () => {
      reads += 1
      await pause(1_000)
      return 'Ada'
    },
    { ttl: 1_500, max: 10 },
  )
  await find('a')
  await pause(600)
  void find('a')
  expect(reads).toBe(2)
})

it('an expired value is returned while the service is unavailable, until staleFor has passed', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ttl: 20, staleFor: 2_500, max: 10 })
  await find('a')
  source.down = down
  await pause(30)
  expect(await find('a')).toBe('Ada')
  await expect(find('b')).rejects.toBe(down)
  await pause(3_600)
  await expect(find('a')).rejects.toBe(down)
  source.down = undefined
  expect(await find('a')).toBe('Ada')
})

it('an expired value is read again at most once a second while the service is unavailable', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ttl: 20, max: 10 })
  await find('a')
  source.down = down
  await pause(30)
  for (let call = 0; call < 20; call += 1) expect(await find('a')).toBe('Ada')
  expect(source.reads).toHaveLength(2)
  source.down = undefined
  source.known = { a: 'Ada L.' }
  await pause(1_050)
  expect(await find('a')).toBe('Ada L.')
})

it('a cached absence is not returned when the service is unavailable', async () => {
  const source = names({})
  const find = lookupCache(source.read, { ttl: 20, max: 10 })
  expect(await find('a')).toBeUndefined()
  source.down = down
  await pause(30)
  await expect(find('a')).rejects.toBe(down)
})

it('an expired value is not returned if the service answers with an absence or an unexpected error', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ttl: 5, max: 10 })
  await find('a')
  source.known = {}
  await pause(10)
  expect(await find('a')).toBeUndefined()
  source.down = new Error('a bug')
  await pause(10)
  await expect(find('a')).rejects.toThrow('a bug')
})

it('a failure is not cached, and an unexpected error does not evict the old value', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ttl: 5, max: 10 })
  source.down = down
  await expect(Promise.all([find('a'), find('a')])).rejects.toBe(down)
  source.down = undefined
  expect(await find('a')).toBe('Ada')
  await pause(10)
  source.down = new Error('a bug')
  await expect(find('a')).rejects.toThrow('a bug')
  source.down = down
  expect(await find('a')).toBe('Ada')
})

it('a value that is not cacheable is read for each call, also while another read is pending', async () => {
  const source = names({ a: 'Ada' })
  const find = lookupCache(source.read, { ...lasting, isCacheable: (name) => name !== 'Ada' })
  const before = find('a')
  await pause(2)
  const during = find('a')
  expect(await Promise.all([before, during])).toEqual(['Ada', 'Ada'])
  expect(source.reads).toHaveLength(2)
  await pause(5)
  source.known = { a: 'Bea' }
  expect([await find('a'), await find('a')]).toEqual(['Bea', 'Bea'])
  expect(source.reads).toHaveLength(3)
})

it('an expired value is not returned after the service returned a value that is not cacheable', async () => {
  const source = names({ a: 'Bea' })
  const find = lookupCache(source.read, { ttl: 5, max: 10, isCacheable: (name) => name !== 'Ada' })
  await find('a')
  source.known = { a: 'Ada' }
  await pause(10)
  expect(await find('a')).toBe('Ada')
  source.down = down
  await expect(find('a')).rejects.toBe(down)
})

it('the cache holds no more values than its maximum', async () => {
  const source = names({ a: 'Ada', b: 'Bo', c: 'Cy' })
  const find = lookupCache(batchLookups(source.readMany), { ...lasting, max: 2 })
  const findAll = () => Promise.all(['a', 'b', 'c'].map(find))
  expect(await findAll()).toEqual(['Ada', 'Bo', 'Cy'])
  expect(await find('b')).toBe('Bo')
  expect(await find('a')).toBe('Ada')
  expect(source.reads).toEqual([['a', 'b', 'c'], ['a']])
})

it('an expired value is returned while the service hangs, and the new value once it arrives', async () => {
  const answers = ['Ada', 'Ada Lovelace']
  let delay = 0
  const find = lookupCache(
    async () => {
      const answer = answers.shift()
      await pause(delay)
      return answer
    },
    { ttl: 1, max: 10 },
  )
  await find('a')
  delay = 2_000
  await pause(5)
  expect(await find('a')).toBe('Ada')
  await pause(2_200)
  answers.push('Ada King')
  expect(await find('a')).toBe('Ada Lovelace')
})
