import { uploadPath } from '../../files/upload-path.ts'
import { type CsvConfig, csvSource } from './files/csv/csv-source.ts'
import type { Reading, SourceKind } from './reading.ts'
import { SourceProblem } from './source.ts'

/** Files that people upload, by what they hold. */
export const uploadedFiles = (filesDirectory: string) =>
  ({
    CSV_UPLOAD: {
      read: (reading, report, signal) =>
        csvSource.read({ ...fileOf(reading, filesDirectory), ...csvOptions(reading) }, report, signal),
    },
  }) satisfies Record<string, SourceKind>

function fileOf({ input }: Reading, filesDirectory: string): { path: string; fileName: string } {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'No file was uploaded. Upload one, then run again.')
  return { path: uploadPath(filesDirectory, file.uid), fileName: file.name }
}

const csvOptions = ({ settings }: Reading) =>
  (settings as { csvOptions?: Omit<CsvConfig, 'path' | 'fileName'> }).csvOptions
