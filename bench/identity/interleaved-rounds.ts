import { median } from '../statistics.ts'
import type { Result } from './load/load-job.ts'

/** A workload whose rounds alternate with the rounds of other workloads. */
export interface Workload {
  round(seconds: number): Promise<Round>
}

export type Round = Pick<Result, 'rate' | 'p50' | 'p95'>

/** Medians of all rounds, and the rate of each round. */
export interface Figures extends Round {
  rates: number[]
}

export interface Rounds {
  rounds: number
  seconds: number
}

/**
 * Runs one round of each workload in turn, several times, so that other load on the machine affects all of them, and
 * returns the medians. A warm-up round of twice the length is not counted, because Node has not compiled the hot code
 * yet.
 */
export async function runInterleaved(workloads: Workload[], { rounds, seconds }: Rounds): Promise<Figures[]> {
  for (const workload of workloads) await workload.round(2 * seconds)
  const results = workloads.map((): Round[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, workload] of workloads.entries()) results[index]!.push(await workload.round(seconds))
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
 * Returns the ratio of two rates: the median of the ratios of each round. Adjacent rounds share the current speed of
 * the machine; the medians of the two workloads do not.
 */
export function ratio({ rates }: Figures, other: Figures): number {
  return median(rates.map((rate, round) => rate / other.rates[round]!))
}
