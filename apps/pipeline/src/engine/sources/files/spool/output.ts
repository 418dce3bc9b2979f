import type { Rejects } from './rejects.ts'
import type { SpoolWriter } from './spool-writer.ts'

/** What is written, and where rows go that are set aside. */
export interface Output {
  writer: SpoolWriter
  rejects: Rejects
}
