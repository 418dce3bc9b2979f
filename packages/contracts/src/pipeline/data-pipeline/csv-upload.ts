import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { csvOptions } from './csv-options.ts'
import { UploadedFile } from './uploaded-file.ts'

const type = Type.Literal('CSV_UPLOAD')

/** A file of rows that people upload: delimited text, JSON, or Excel; recognised by its content. */
export const CsvUploadPipelineBody = contract(
  'CsvUploadPipelineBody',
  body({ ...baseFields, type, csvOptions }, [...baseIgnored, 'file']),
)
export type CsvUploadPipelineBody = TypeOf<typeof CsvUploadPipelineBody>

export const CsvUploadSourceBody = contract('CsvUploadSourceBody', sourceBody({ type, csvOptions }, ['file']))

export const CsvUploadPipeline = contract(
  'CsvUploadPipeline',
  Type.Object({ ...baseResponse, type, csvOptions, file: Type.Optional(UploadedFile) }, closed),
)
export type CsvUploadPipeline = TypeOf<typeof CsvUploadPipeline>
