import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { microBatcher } from './micro-batcher.ts'

const most = 3
const patience = 50

/** Questions that are answered by hand, unless one of who asks is in `bad`: then as a whole. */
function company() {
  const state = { hurried: false, questions: [] as (readonly string[])[], bad: new Map<string, Error>() }
  const ask = microBatcher<string, string>({
    most,
    patience,
    hurried: () => state.hurried,
    async ask(all) {
      state.questions.push(all)
      for (const one of all) if (state.bad.has(one)) throw state.bad.get(one)!
      return all.map((one) => one.toUpperCase())
    },
    refused: (error) => (error as Error).message === 'refused',
  })
  return Object.assign(state, { ask })
}

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

describe('asking in company', () => {
  it('asks at once for who is in a hurry, and for those who wait along with them', async () => {
    const group = company()
    const early = group.ask('a')
    expect(group.questions).toEqual([])
    group.hurried = true
    expect(await group.ask('b')).toBe('B')
    expect(await early).toBe('A')
    expect(await group.ask('c')).toBe('C')
    expect(group.questions).toEqual([['a', 'b'], ['c']])
  })

  it('asks once there are enough, each answered with its own', async () => {
    const group = company()
    expect(await Promise.all(['a', 'b', 'c'].map(group.ask))).toEqual(['A', 'B', 'C'])
    expect(group.questions).toEqual([['a', 'b', 'c']])
  })

  it('has patience for so long, counted from the first', async () => {
    const group = company()
    const first = group.ask('a')
    jest.advanceTimersByTime(patience - 1)
    const second = group.ask('b')
    expect(group.questions).toEqual([])
    jest.advanceTimersByTime(1)
    expect(await Promise.all([first, second])).toEqual(['A', 'B'])
    void group.ask('c')
    jest.advanceTimersByTime(patience - 1)
    expect(group.questions).toEqual([['a', 'b']])
    jest.advanceTimersByTime(1)
    expect(group.questions).toEqual([['a', 'b'], ['c']])
  })

  it('asks one by one when a group is refused, so that only who is to blame fails', async () => {
    const group = company()
    group.bad.set('b', new Error('refused'))
    const answers = await Promise.allSettled(['a', 'b', 'c'].map(group.ask))
    expect(answers).toMatchObject([{ value: 'A' }, { reason: { message: 'refused' } }, { value: 'C' }])
    expect(group.questions).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']])
  })

  it('asks nobody twice when it is not known what became of the question', async () => {
    const group = company()
    group.bad.set('b', new Error('connection lost'))
    const answers = await Promise.allSettled(['a', 'b', 'c'].map(group.ask))
    for (const answer of answers) expect(answer).toMatchObject({ reason: { message: 'connection lost' } })
    expect(group.questions).toHaveLength(1)
  })
})
