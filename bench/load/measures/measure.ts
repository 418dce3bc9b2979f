import type { Installation } from '../installation.ts'
import type { Figures } from '../interleaved-rounds.ts'

export interface BenchContext {
  installation: Installation
  /** Connection string of the database for the other tools, on the same server. */
  peers: string
  /** Folder that keeps the data files between runs. */
  folder: string
  /** Sizes of the CSV files in megabytes. */
  sizes: number[]
  rounds: number
}

/** A measured value and its upper limit. */
export interface Target {
  text: string
  value: number
  limit: number
  unit: string
}

/** A section of the report. */
export interface MeasureReport {
  title: string
  /** The ratios refer to the first one. */
  figures: Figures[]
  /** Loaded bytes, from which the report calculates rates. */
  bytes?: number
  targets: Target[]
}

export function ratio(figures: Figures[], of: string, to: string): number {
  const [one, other] = [of, to].map((wanted) => figures.find(({ name }) => name === wanted))
  return one && other ? one.milliseconds / other.milliseconds : Number.NaN
}

export const findFigures = (figures: Figures[], wanted: string): Figures => figures.find(({ name }) => name === wanted)!

/** Returns the target that Sluice loads exactly the expected rows. */
export const correctnessTarget = (figures: Figures[]): Target => ({
  text: 'wrong loads of the product',
  value: findFigures(figures, 'Sluice').hasOtherRows ? 1 : 0,
  limit: 0,
  unit: '',
})
