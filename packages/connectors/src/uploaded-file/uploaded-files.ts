import type { CsvOptions } from '@sluice/contracts'
import { uploadPath } from './upload-path.ts'
import { columnsBefore, SourceProblem } from '@sluice/row-stream'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import { type FileOptions, readParquetUpload, readUpload } from '@sluice/file-formats/upload/read-upload'
import { rememberedFile } from '@sluice/file-formats/csv/remembered'
import type { ReadRequest, Connector } from '../connector.ts'

/** Sources for uploaded files, by their type of content. */
export function uploadedFiles(filesDirectory: string): Record<'CSV_UPLOAD' | 'PARQUET_UPLOAD', Connector> {
  const uploadOf = (reading: ReadRequest) => {
    const { path, fileName: name } = fileOf(reading, filesDirectory)
    return { path, name, filesDirectory }
  }
  return {
    CSV_UPLOAD: {
      read(reading, report, signal) {
        const options = { ...fileOptions(reading), columnsBefore: columnsBefore(reading.remembered) }
        return readUpload(uploadOf(reading), options, report, signal)
      },
      preview: (reading, rows, signal) => previewUpload(uploadOf(reading), fileOptions(reading), rows, signal),
    },
    PARQUET_UPLOAD: {
      read: (reading, report, signal) => readParquetUpload(uploadOf(reading), report, signal),
    },
  }
}

function fileOf({ input }: ReadRequest, filesDirectory: string): { path: string; fileName: string } {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'No file was uploaded. Upload one, then run again.')
  return { path: uploadPath(filesDirectory, file.uid), fileName: file.name }
}

const fileOptions = (reading: ReadRequest): FileOptions => {
  const remembered = rememberedFile(reading.remembered)
  return { ...csvOptions(reading), ...(remembered && { remembered }) }
}

const csvOptions = ({ settings }: ReadRequest): CsvOptions => (settings as { csvOptions?: CsvOptions }).csvOptions ?? {}
