import { makeFile } from '../load/data/make-file.ts'
import { createSourceDatabase } from '../load/measures/databases.ts'
import { type TableContent, readContent } from '../load/table-content.ts'
import type { BenchContext } from './measures/measure.ts'

/**
 * The wide rows as a CSV file and, loaded by psql, in a PostgreSQL database. Every load of them is compared with these
 * rows.
 */
export interface Reference {
  file: { path: string; size: number }
  /** Connection string of the database, which has the rows in its table `source`. */
  source: string
  expected: TableContent
}

export async function createReference(context: BenchContext): Promise<Reference> {
  const file = await makeFile(context.folder, 'wide', context.megabytes)
  const source = await createSourceDatabase(context, file.path)
  return { file, source, expected: await readContent({ database: source, table: 'source' }) }
}
