import type { Result } from './load/job.ts'

/** One thing that is measured next to others. */
export interface Contender {
  round(seconds: number): Promise<Round>
}

export type Round = Pick<Result, 'rate' | 'p50' | 'p95'>

/** Medians of all rounds, and the rate of each. */
export interface Figures extends Round {
  rates: number[]
}

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
  const results = contenders.map((): Round[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, contender] of contenders.entries()) results[index]!.push(await contender.round(seconds))
  return results.map((figures) => {
    const rates = figures.map(({ rate }) => rate)
    return {
      rates,
      rate: median(rates),
      p50: median(figures.map(({ p50 }) => p50)),
      p95: median(figures.map(({ p95 }) => p95)),
    }
  })
}

/**
 * How many times as many a second as the other, who took turns with it: the median of the ratios of each round. A machine that
 * becomes slower or faster within minutes does so for neighbouring rounds alike, and not for the medians of each.
 */
export function ratio({ rates }: Figures, other: Figures): number {
  return median(rates.map((rate, round) => rate / other.rates[round]!))
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
