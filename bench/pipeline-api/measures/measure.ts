import type { Installation } from '../../load/installation.ts'
import type { Target } from '../../load/measures/measure.ts'
import type { Size } from './fill.ts'

/** What every measure is given. */
export interface Parts {
  installation: Installation
  /** How much the large installation has. */
  large: Size
  rounds: number
}

/** A heading of the report, a table below it, and what its figures are held against. */
export interface Report {
  title: string
  head: string[]
  rows: (string | number)[][]
  targets: Target[]
}
