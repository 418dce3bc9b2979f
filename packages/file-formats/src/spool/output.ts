import type { RejectsFile } from './rejects.ts'
import type { SpoolWriter } from './spool-writer.ts'

/** The writer of the rows, and the destination of rejected rows. */
export interface RowOutput {
  writer: SpoolWriter
  rejects: RejectsFile
}
