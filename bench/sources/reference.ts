import { makeFile } from '../load/data/make-file.ts'
import { filled } from '../load/measures/databases.ts'
import { type Content, contentOf } from '../load/verify.ts'
import type { Parts } from './line.ts'

/** The wide rows as a file, and in a PostgreSQL where psql put them: what every load of them has to come to. */
export interface Reference {
  file: { path: string; size: number }
  /** Of the database that has them in its table `source`. */
  source: string
  expected: Content
}

export async function referenceOf(parts: Parts): Promise<Reference> {
  const file = await makeFile(parts.folder, 'wide', parts.megabytes)
  const source = await filled(parts, file.path)
  return { file, source, expected: await contentOf({ database: source, table: 'source' }) }
}
