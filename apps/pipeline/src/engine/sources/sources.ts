import { uploadPath } from '../../files/upload-path.ts'
import { csvSource } from './files/csv/csv-source.ts'
import type { CsvConfig } from './files/csv/csv-source.ts'
import { type Feed, type Report, SourceProblem } from './source.ts'

/** What is to be read: the pipeline's settings, and the run's input as it was when the run was asked for. */
export interface Reading {
  settings: unknown
  input: unknown
  filesDirectory: string
}

/** Opens a source for one run. Throws `SourceProblem` when what is to be read is not there. */
type Open = (reading: Reading, report: Report, signal: AbortSignal) => AsyncIterable<Feed>

/** Each type of data pipeline and where its data comes from. */
const sources: Readonly<Record<string, Open>> = {
  CSV_UPLOAD: (reading, report, signal) => csvSource.read(csvUpload(reading), report, signal),
}

/** The feeds of a pipeline of this type. Nothing is read before the first is asked for. */
export function readSource(type: string, reading: Reading, report: Report, signal: AbortSignal): AsyncIterable<Feed> {
  const open = sources[type]
  if (!open) throw new SourceProblem('TYPE_NOT_SUPPORTED', `This version cannot load pipelines of type ${type}.`)
  return open(reading, report, signal)
}

function csvUpload({ settings, input, filesDirectory }: Reading): CsvConfig {
  const { file } = input as { file?: { uid: string; name: string } }
  if (!file) throw new SourceProblem('FILE_MISSING', 'No file was uploaded. Upload one, then run again.')
  const { csvOptions } = settings as { csvOptions?: Pick<CsvConfig, 'delimiter' | 'headerRow'> }
  return { path: uploadPath(filesDirectory, file.uid), fileName: file.name, ...csvOptions }
}
