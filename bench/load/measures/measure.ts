import type { Installation } from '../installation.ts'
import type { Figures } from '../rounds.ts'

/** What every measure is given. */
export interface Parts {
  installation: Installation
  /** Database of the peers, on the same server. */
  peers: string
  /** Where data files are kept between runs. */
  folder: string
  /** Megabytes of the CSV files. */
  sizes: number[]
  rounds: number
}

/** One figure that has to be so much at most. */
export interface Target {
  text: string
  value: number
  limit: number
  unit: string
}

/** A heading of the report, what was measured below it, and what it is held against. */
export interface Report {
  title: string
  /** The first is what the ratios are to. */
  figures: Figures[]
  /** Bytes that were loaded, for rates. */
  bytes?: number
  targets: Target[]
}

export function ratio(figures: Figures[], of: string, to: string): number {
  const [one, other] = [of, to].map((wanted) => figures.find(({ name }) => name === wanted))
  return one && other ? one.milliseconds / other.milliseconds : Number.NaN
}

export const figuresOf = (figures: Figures[], wanted: string): Figures => figures.find(({ name }) => name === wanted)!

/** The first contender's rows and values, for the product a must. */
export const right = (figures: Figures[]): Target => ({
  text: 'wrong loads of the product',
  value: figuresOf(figures, 'Sluice').differs ? 1 : 0,
  limit: 0,
  unit: '',
})
