import { SourceProblem } from '@sluice/row-stream'

/** The format that a pipeline reads. Everything except Parquet is converted to text, which is DELIMITED. */
export type UploadFormat = 'DELIMITED' | 'PARQUET'

/** Throws SourceProblem PARQUET_UPLOADED or NOT_PARQUET if only the other format is wanted. */
export function assertFormat(found: UploadFormat, wanted: UploadFormat | undefined, name: string): void {
  if (wanted === undefined || wanted === found) return
  if (found === 'PARQUET') {
    const text = `${name} is a Parquet file: create a PARQUET_UPLOAD pipeline for it, or save it as CSV.`
    throw new SourceProblem('PARQUET_UPLOADED', text)
  }
  const text = `${name} is no Parquet file. Upload one, or use a pipeline for the format it has.`
  throw new SourceProblem('NOT_PARQUET', text)
}
