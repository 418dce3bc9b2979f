import { Problem } from '@sluice/http'
import type { SourcePreview } from '@sluice/contracts'
import { sourceProblemCode } from '../../problems.ts'
import type { Asked } from '../operation.ts'
import { compareColumns } from './compare-columns.ts'
import { schemaOf } from './loaded-table.ts'
import { preview } from './preview.ts'
import type { DataPipelineRow } from './row.ts'

/** Codes of files that no setting makes readable. Any other problem may come from the settings, which can be changed after the upload. */
const unreadableCodes: ReadonlySet<string> = new Set([
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

type CheckContext = Pick<Asked, 'sources' | 'warehouses' | 'caller' | 'request' | 'db' | 'keyRing'>

interface ReceivedUpload {
  uid: string
  name: string
}

/**
 * Compares a received file with the last load of its pipeline. Returns how the columns differ, or why a run would fail. Returns undefined if
 * nothing differs, nothing was loaded yet, or the check is not possible now. Throws a 422 for a file that no setting makes readable.
 */
export async function checkUpload(
  input: CheckContext,
  pipeline: DataPipelineRow,
  file: ReceivedUpload,
): Promise<string | undefined> {
  const outcome = await readFirstRow(input, pipeline, file)
  if (!outcome) return undefined
  if ('failure' in outcome) return `A run would fail: ${outcome.failure}`
  try {
    const warehouse = await input.warehouses.find(pipeline.client)
    const lastLoad = await warehouse?.findFeed(await schemaOf(input.db, pipeline), pipeline.table_name)
    return lastLoad && compareColumns(lastLoad, outcome.columns)
  } catch {
    return undefined
  }
}

/**
 * Returns a preview of the first row of a received file, or why the settings of the pipeline cannot read it. Returns undefined if the check is
 * not possible now.
 * Throws a 422 for a file that no setting makes readable.
 */
export async function readFirstRow(
  input: CheckContext,
  { type, settings }: Pick<DataPipelineRow, 'type' | 'settings'>,
  file: ReceivedUpload,
): Promise<SourcePreview | { failure: string } | undefined> {
  try {
    return await preview(input, { type, settings, secrets: {}, input: { file } }, { name: file.name, rows: 1 })
  } catch (error) {
    const code = sourceProblemCode(error)
    if (code === undefined) return undefined
    const { message } = error as Error
    if (!unreadableCodes.has(code)) return { failure: message }
    throw new Problem(422, 'source-unreadable', 'The source cannot be read.', {
      detail: `${message} The upload was discarded; any earlier file stays.`,
      cause: error,
    })
  }
}
