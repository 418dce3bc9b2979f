import { Problem } from '@sluice/http'
import type { SourcePreview } from '@sluice/contracts'
import { sourceCodeOf } from '../../problems.ts'
import type { Asked } from '../operation.ts'
import { compareColumns } from './compare-columns.ts'
import { schemaOf } from './loaded-table.ts'
import { preview } from './preview.ts'
import type { DataPipelineRow } from './row.ts'

/** Codes of files that no setting makes readable. Every other problem can be one of the settings, which can be changed after the upload. */
const unreadable: ReadonlySet<string> = new Set([
  'NOT_SUPPORTED',
  'OLD_EXCEL',
  'EXCEL_DAMAGED',
  'EXCEL_PROTECTED',
  'JSON_BROKEN',
  'JSON_NOT_ROWS',
  'NOT_PARQUET',
  'PARQUET_UPLOADED',
  'FILE_DAMAGED',
  'EMPTY_FILE',
  'ARCHIVE_DAMAGED',
  'ARCHIVE_EMPTY',
  'ARCHIVE_ENCRYPTED',
  'ARCHIVE_NESTED',
])

type Asking = Pick<Asked, 'sources' | 'warehouses' | 'caller' | 'request' | 'db' | 'keyRing'>

interface ReceivedUpload {
  uid: string
  name: string
}

/**
 * Compares a received file with the last load of its pipeline. Returns how the columns differ, or why a run would fail; undefined if nothing
 * differs, nothing was loaded yet, or the service cannot tell now. Throws a 422 for a file that no setting makes readable.
 */
export async function checkUpload(
  input: Asking,
  pipeline: DataPipelineRow,
  file: ReceivedUpload,
): Promise<string | undefined> {
  const begun = await readBeginning(input, pipeline, file)
  if (!begun) return undefined
  if ('failure' in begun) return `A run would fail: ${begun.failure}`
  try {
    const warehouse = await input.warehouses.find(pipeline.client)
    const last = await warehouse?.findFeed(await schemaOf(input.db, pipeline), pipeline.table_name)
    return last && compareColumns(last, begun.columns)
  } catch {
    return undefined
  }
}

/**
 * Returns the first row of a received file, or why the settings of the pipeline do not read it; undefined if the service cannot tell now.
 * Throws a 422 for a file that no setting makes readable.
 */
export async function readBeginning(
  input: Asking,
  { type, settings }: Pick<DataPipelineRow, 'type' | 'settings'>,
  file: ReceivedUpload,
): Promise<SourcePreview | { failure: string } | undefined> {
  try {
    return await preview(input, { type, settings, secrets: {}, input: { file } }, { name: file.name, rows: 1 })
  } catch (error) {
    const code = sourceCodeOf(error)
    if (code === undefined) return undefined
    const { message } = error as Error
    if (!unreadable.has(code)) return { failure: message }
    throw new Problem(422, 'source-unreadable', 'The source cannot be read.', {
      detail: `${message} The upload was not kept; a file that was uploaded before stays.`,
      cause: error,
    })
  }
}
