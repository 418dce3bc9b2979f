import { Type } from 'typebox'
import { csvOptions } from '../csv-options.ts'
import { UploadedFile } from '../uploaded-file.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const uploadedFileField = Type.Optional(UploadedFile)

/** An uploaded file of rows: delimited text, JSON or Excel. The format is recognised by the content. */
export const csvUpload = definePipelineVariant(connectorTypes.csvUpload, {
  requestFields: { csvOptions },
  responseFields: { csvOptions, file: uploadedFileField },
  ignored: ['file'],
})

/** An uploaded Parquet file. The file declares its columns, so it has no options. */
export const parquetUpload = definePipelineVariant(connectorTypes.parquetUpload, {
  requestFields: {},
  responseFields: { file: uploadedFileField },
  ignored: ['file'],
})
