import type { PipelineKind } from './pipeline-type.ts'
import { uploaded } from './uploads.ts'

export const parquetUpload: PipelineKind<'PARQUET_UPLOAD', object> = {
  ...uploaded,
  upload: { name: 'upload.parquet', mediaType: 'application/vnd.apache.parquet' },
  settings: () => ({}),
  fields: () => ({}),
}
