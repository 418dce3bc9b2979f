import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { UploadedFile } from './uploaded-file.ts'

const type = Type.Literal('PARQUET_UPLOAD')

/** A Parquet file that people upload. It says itself what its columns are, so there is nothing to choose. */
export const ParquetUploadPipelineBody = contract(
  'ParquetUploadPipelineBody',
  body({ ...baseFields, type }, [...baseIgnored, 'file']),
)
export type ParquetUploadPipelineBody = TypeOf<typeof ParquetUploadPipelineBody>

export const ParquetUploadSourceBody = contract('ParquetUploadSourceBody', sourceBody({ type }, ['file']))

export const ParquetUploadPipeline = contract(
  'ParquetUploadPipeline',
  Type.Object({ ...baseResponse, type, file: Type.Optional(UploadedFile) }, closed),
)
export type ParquetUploadPipeline = TypeOf<typeof ParquetUploadPipeline>
