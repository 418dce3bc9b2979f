import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'

/** A small file and all that has to come out of it. Cells are divided by ¦, and ∅ is null. */
export interface DirtyFile {
  name: string
  text: string
  options?: DelimitedOptions
  labels: string
  rows: string[]
  /** Physical lines of the rows that are set aside; none where it is absent. */
  rejected?: number[]
  /** How the dialect is described, and what else is said; anything where absent. */
  says?: string
  notes?: string[]
}
