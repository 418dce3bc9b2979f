import type { CsvOptions } from '@sluice/contracts'
import { findPreviousDialect } from '@sluice/file-formats/csv/find-previous-dialect'
import { describeKeyRows } from '@sluice/file-formats/key-rows/describe-rows-by-key'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import { type FileOptions, readParquetUpload, readUpload } from '@sluice/file-formats/upload/read-upload'
import { columnsOfPreviousLoad, SourceProblem } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest } from '../connector.ts'
import { readNewFile } from './loaded-file-digests.ts'
import { getUploadPath } from './upload-path.ts'

/** Creates a connector that reads uploaded files: delimited text, Excel or JSON. */
export const createCsvUploadConnector = ({ filesDirectory }: ConnectorContext): Connector => ({
  read(request, report, signal) {
    const options = { ...createFileOptions(request), columnsBefore: columnsOfPreviousLoad(request.previousShape) }
    return readNewFile(request, report, () =>
      readUpload(getUploadedFile(request, filesDirectory), options, report, signal),
    )
  },
  preview: (request, rows, signal) =>
    previewUpload(getUploadedFile(request, filesDirectory), createFileOptions(request), rows, signal),
  describeKeyRows: (request, keyRows, signal) =>
    describeKeyRows(getUploadedFile(request, filesDirectory), createFileOptions(request), keyRows, signal),
})

export const createParquetUploadConnector = ({ filesDirectory }: ConnectorContext): Connector => ({
  read: (request, report, signal) =>
    readNewFile(request, report, () => readParquetUpload(getUploadedFile(request, filesDirectory), report, signal)),
  describeKeyRows: (request, keyRows, signal) =>
    describeKeyRows(getUploadedFile(request, filesDirectory), {}, keyRows, signal),
})

/** Returns the path and name of the file that was uploaded for the run. Throws FILE_MISSING if it does not exist. */
function getUploadedFile({ input }: ReadRequest, filesDirectory: string) {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'The run has no uploaded file. Upload one, then run again.')
  return { path: getUploadPath(filesDirectory, file.uid), name: file.name, filesDirectory }
}

/** Returns the options of the file reader: those of the settings, and the dialect of the previous load. */
function createFileOptions({ settings, previousShape, writeMode = 'REPLACE' }: ReadRequest): FileOptions {
  const { csvOptions } = settings as { csvOptions?: CsvOptions }
  const previousDialect = findPreviousDialect(previousShape, { keepsRows: writeMode !== 'REPLACE' })
  return { ...csvOptions, ...(previousDialect && { previousDialect }) }
}
