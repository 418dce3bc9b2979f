import type { Result } from './load/job.ts'

/** One thing that is measured next to others. */
export interface Contender {
  round(seconds: number): Promise<Figures>
}

export type Figures = Pick<Result, 'rate' | 'p50' | 'p95'>

export interface Rounds {
  rounds: number
  seconds: number
}

/**
 * All contenders in turn, several times, so that whatever else the machine does meets them alike: the medians. A first
 * round, twice as long, does not count: until Node has compiled what runs often, it measures the compiler.
 */
export async function inTurns(contenders: Contender[], { rounds, seconds }: Rounds): Promise<Figures[]> {
  for (const contender of contenders) await contender.round(2 * seconds)
  const results = contenders.map((): Figures[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, contender] of contenders.entries()) results[index]!.push(await contender.round(seconds))
  return results.map((figures) => ({
    rate: median(figures.map(({ rate }) => rate)),
    p50: median(figures.map(({ p50 }) => p50)),
    p95: median(figures.map(({ p95 }) => p95)),
  }))
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
