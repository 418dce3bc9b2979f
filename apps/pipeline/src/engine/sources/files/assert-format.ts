import { SourceProblem } from '../source.ts'

/** What a pipeline reads: DELIMITED is all that is made into text, so everything but Parquet. */
export type UploadFormat = 'DELIMITED' | 'PARQUET'

/** Throws SourceProblem PARQUET_UPLOADED or NOT_PARQUET where only the other one is wanted. */
export function assertFormat(found: UploadFormat, wanted: UploadFormat | undefined, name: string): void {
  if (wanted === undefined || wanted === found) return
  if (found === 'PARQUET') {
    const text = `${name} is a Parquet file: create a PARQUET_UPLOAD pipeline for it, or save it as CSV.`
    throw new SourceProblem('PARQUET_UPLOADED', text)
  }
  const text = `${name} is no Parquet file. Upload one, or use a pipeline for the format it has.`
  throw new SourceProblem('NOT_PARQUET', text)
}
