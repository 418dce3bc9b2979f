import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Turns } from './turns.ts'

describe('turns', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  /** Takes a turn, and says so. */
  const taking = (turns: Turns, name: string, said: string[], signal?: AbortSignal) =>
    turns.take(signal).then(
      (turn) => {
        said.push(name)
        return turn
      },
      (error: unknown) => {
        said.push(`${name}: ${(error as { code?: string }).code ?? (error as Error).message}`)
        return undefined
      },
    )

  it('go on as others are given back, in the order in which they were asked for', async () => {
    const turns = new Turns(2)
    const said: string[] = []
    const [first, second] = await Promise.all([taking(turns, 'a', said), taking(turns, 'b', said)])
    const later = ['c', 'd', 'e'].map((name) => taking(turns, name, said))
    await jest.advanceTimersByTimeAsync(1_000)
    expect(said).toEqual(['a', 'b'])
    first![Symbol.dispose]()
    // Once is once.
    first![Symbol.dispose]()
    await later[0]
    expect(said).toEqual(['a', 'b', 'c'])
    second![Symbol.dispose]()
    await later[1]
    expect(said).toEqual(['a', 'b', 'c', 'd'])
  })

  it('are waited for so long, and whoever leaves takes no place', async () => {
    const turns = new Turns(1)
    const said: string[] = []
    const held = await taking(turns, 'a', said)
    const leaving = new AbortController()
    const all = [taking(turns, 'b', said), taking(turns, 'c', said, leaving.signal)]
    await jest.advanceTimersByTimeAsync(10_000)
    all.push(taking(turns, 'd', said))
    leaving.abort(new Error('gone'))
    await jest.advanceTimersByTimeAsync(5_000)
    expect(said).toEqual(['a', 'c: gone', 'b: WAREHOUSE_BUSY'])
    held![Symbol.dispose]()
    await Promise.all(all)
    expect(said.at(-1)).toBe('d')
    await taking(turns, 'e', said, leaving.signal)
    expect(said.at(-1)).toBe('e: gone')
  })
})
