import { Type } from 'typebox'
import { csvOptions } from '../csv-options.ts'
import { UploadedFile } from '../uploaded-file.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const file = Type.Optional(UploadedFile)

/** An uploaded file of rows: delimited text, JSON, or Excel; recognised by its content. */
export const csvUpload = variant(connectorTypes.csvUpload, {
  given: { csvOptions },
  answered: { csvOptions, file },
  ignored: ['file'],
})

/** An uploaded Parquet file. The file declares its columns, so it has no options. */
export const parquetUpload = variant(connectorTypes.parquetUpload, { given: {}, answered: { file }, ignored: ['file'] })
