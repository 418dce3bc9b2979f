import type { Installation } from '../../load/installation.ts'
import type { Target } from '../../load/measures/measure.ts'
import type { InstallationSize } from './fill-database.ts'

export interface BenchContext {
  installation: Installation
  /** Size of the large installation. */
  large: InstallationSize
  rounds: number
}

/** A section of the report: a table and its targets. */
export interface MeasureReport {
  title: string
  head: string[]
  rows: (string | number)[][]
  targets: Target[]
}
