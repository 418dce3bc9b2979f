import { Type } from 'typebox'
import { csvOptions } from '../csv-options.ts'
import { UploadedFile } from '../uploaded-file.ts'
import { variant } from '../variant.ts'

const file = Type.Optional(UploadedFile)

/** A file of rows that people upload: delimited text, JSON, or Excel; recognised by its content. */
export const csvUpload = variant('CSV_UPLOAD', {
  given: { csvOptions },
  answered: { csvOptions, file },
  ignored: ['file'],
})

/** A Parquet file that people upload. It says itself what its columns are, so there is nothing to choose. */
export const parquetUpload = variant('PARQUET_UPLOAD', { given: {}, answered: { file }, ignored: ['file'] })
