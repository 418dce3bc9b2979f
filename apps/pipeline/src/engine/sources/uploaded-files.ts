import type { CsvOptions } from '@sluice/contracts'
import { uploadPath } from '../../files/files-directory.ts'
import { columnsBefore } from './empty-feed.ts'
import { previewUpload } from './preview/preview-upload.ts'
import { type FileOptions, readParquetUpload, readUpload } from './read-upload.ts'
import { rememberedFile } from './files/csv/remembered.ts'
import type { SourceReading, SourceKind } from './reading.ts'
import { SourceProblem } from './source.ts'

/** Sources for uploaded files, by their type of content. */
export function uploadedFiles(filesDirectory: string): Record<'CSV_UPLOAD' | 'PARQUET_UPLOAD', SourceKind> {
  const uploadOf = (reading: SourceReading) => {
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

function fileOf({ input }: SourceReading, filesDirectory: string): { path: string; fileName: string } {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'No file was uploaded. Upload one, then run again.')
  return { path: uploadPath(filesDirectory, file.uid), fileName: file.name }
}

const fileOptions = (reading: SourceReading): FileOptions => {
  const remembered = rememberedFile(reading.remembered)
  return { ...csvOptions(reading), ...(remembered && { remembered }) }
}

const csvOptions = ({ settings }: SourceReading): CsvOptions =>
  (settings as { csvOptions?: CsvOptions }).csvOptions ?? {}
