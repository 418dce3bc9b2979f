import type { RejectsFile } from './rejects.ts'
import type { SpoolWriter } from './spool-writer.ts'

/** What is written, and where rows go that are set aside. */
export interface RowOutput {
  writer: SpoolWriter
  rejects: RejectsFile
}
