import type { CsvOptions } from '@sluice/contracts'
import { findRememberedDialect } from '@sluice/file-formats/csv/remembered'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import { type FileOptions, readParquetUpload, readUpload } from '@sluice/file-formats/upload/read-upload'
import { columnsBefore, SourceProblem } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest } from '../connector.ts'
import { uploadPath } from './upload-path.ts'

/** Reads an uploaded file: delimited text, Excel or JSON. */
export const csvUpload = ({ filesDirectory }: ConnectorContext): Connector => ({
  read(request, report, signal) {
    const options = { ...fileOptions(request), columnsBefore: columnsBefore(request.remembered) }
    return readUpload(uploadedFile(request, filesDirectory), options, report, signal)
  },
  preview: (request, rows, signal) =>
    previewUpload(uploadedFile(request, filesDirectory), fileOptions(request), rows, signal),
})

export const parquetUpload = ({ filesDirectory }: ConnectorContext): Connector => ({
  read: (request, report, signal) => readParquetUpload(uploadedFile(request, filesDirectory), report, signal),
})

function uploadedFile({ input }: ReadRequest, filesDirectory: string) {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'No file was uploaded. Upload one, then run again.')
  return { path: uploadPath(filesDirectory, file.uid), name: file.name, filesDirectory }
}

function fileOptions({ settings, remembered }: ReadRequest): FileOptions {
  const { csvOptions } = settings as { csvOptions?: CsvOptions }
  const known = findRememberedDialect(remembered)
  return { ...csvOptions, ...(known && { remembered: known }) }
}
