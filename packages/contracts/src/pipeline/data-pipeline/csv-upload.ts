import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body, Line, Timestamp } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse } from './base.ts'
import { Count } from '../../numbers.ts'

export const delimiters = ['PIPE', 'COMMA', 'TAB', 'SEMI_COLON'] as const

const type = Type.Literal('CSV_UPLOAD')

const csvOptions = Type.Optional(
  Type.Object(
    {
      /** Guessed from the file when absent. */
      delimiter: Type.Optional(Type.Enum([...delimiters])),
      /** Whether the first record names the columns; true when absent. */
      headerRow: Type.Optional(Type.Boolean()),
    },
    { ...closed, title: 'CsvOptions' },
  ),
)

/** A CSV file that people upload. */
export const CsvUploadPipelineBody = contract(
  'CsvUploadPipelineBody',
  body({ ...baseFields, type, csvOptions }, [...baseIgnored, 'file']),
)
export type CsvUploadPipelineBody = TypeOf<typeof CsvUploadPipelineBody>

/** The file that a pipeline loads at its next run. */
export const UploadedFile = contract(
  'UploadedFile',
  Type.Object(
    {
      name: Line,
      /** Bytes. */
      size: Count,
      /** Of the bytes as they arrived, in hexadecimal. */
      sha256: Type.String({ maxLength: 64 }),
      uploaded: Timestamp,
      uploadedBy: Type.Optional(Line),
    },
    closed,
  ),
)
export type UploadedFile = TypeOf<typeof UploadedFile>

export const CsvUploadPipeline = contract(
  'CsvUploadPipeline',
  Type.Object({ ...baseResponse, type, csvOptions, file: Type.Optional(UploadedFile) }, closed),
)
export type CsvUploadPipeline = TypeOf<typeof CsvUploadPipeline>
