import { describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { batchUnderLoad } from '../src/sign-in/micro-batcher.ts'
import { whileChecking } from './crowd.ts'

/** An error as PostgreSQL, or a pooler before it, sends it. */
const errorOf = (code: string) => Object.assign(new pg.DatabaseError('it went wrong', 0, 'error'), { code })

/** What three who ask together come to, when their statement ends so, and how many asked in each statement. */
async function together(ending: Error) {
  const asked: number[] = []
  const answer = batchUnderLoad<number, number>({
    patience: 5,
    ask: async (all) => {
      asked.push(all.length)
      if (all.length > 1) throw ending
      return all
    },
  })
  const results = await whileChecking(8, () => Promise.allSettled([1, 2, 3].map(answer)))
  return { asked, statuses: results.map(({ status }) => status) }
}

describe('a statement for a crowd', () => {
  it.each(['23505', 'P0001', '55P03', '40P01', '57014'])(
    'is asked anew for each after %s, which undid it as a whole',
    async (code) => {
      expect(await together(errorOf(code))).toEqual({
        asked: [3, 1, 1, 1],
        statuses: ['fulfilled', 'fulfilled', 'fulfilled'],
      })
    },
  )

  it.each([
    ['57P01, the end of the connection', errorOf('57P01')],
    ['08P01, which a pooler says whose connection ended', errorOf('08P01')],
    ['08006', errorOf('08006')],
    ['a lost connection', new Error('Connection terminated unexpectedly')],
  ])('is not repeated after %s: it may have happened', async (_, error) => {
    expect(await together(error)).toEqual({ asked: [3], statuses: ['rejected', 'rejected', 'rejected'] })
  })
})
