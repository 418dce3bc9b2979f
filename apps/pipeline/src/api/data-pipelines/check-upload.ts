import type { SchemaChanges } from '@sluice/contracts'
import { Problem } from '@sluice/http'
import { compareColumns } from '../../compare-columns.ts'
import type { SourcePreview } from '../../engine/sources/preview/source-preview.ts'
import type { FeedMemory } from '../../engine/warehouses/shape/feed-memory.ts'
import { sourceProblemCode, translate } from '../../problems.ts'
import { definitionOf, memoryFor } from '../../source-definition.ts'
import type { Asked } from '../operation.ts'
import { schemaOf } from './loaded-table.ts'
import { readFirstRows } from './preview.ts'
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

type CheckContext = Pick<Asked, 'sources' | 'warehouses' | 'caller' | 'request' | 'db' | 'keyRing' | 'logger'>

interface ReceivedUpload {
  uid: string
  name: string
}

/** The result of the check in the response to an upload. Empty if the file passes. */
export interface UploadCheck {
  /** How the file differs from the last load, what a run would do about it, or why it would fail. */
  mismatch?: string
  /** Why the file was stored without a check. */
  checkSkipped?: string
}

/** The first row of a file, or why the settings of the pipeline cannot read it, or why the check is not possible now. */
type FirstRowResult =
  | { found: SourcePreview }
  | { failure: { code: string; message: string } }
  | { checkSkipped: string }

/**
 * Compares a received file with the last load of its pipeline. Throws a 422 for a file that no setting makes readable.
 */
export async function checkUpload(
  input: CheckContext,
  pipeline: DataPipelineRow,
  file: ReceivedUpload,
): Promise<UploadCheck> {
  const definition = definitionOf(pipeline)
  const lastLoad = await findLastFeed(input, pipeline).catch((error: unknown) => {
    logUnknown(input, error)
    return 'UNKNOWN' as const
  })
  const last = lastLoad === 'UNKNOWN' ? undefined : lastLoad
  const remembered = memoryFor(definition, last)
  const outcome = await readFirstRow(input, pipeline, file, remembered)
  if ('checkSkipped' in outcome) return outcome
  if (lastLoad === 'UNKNOWN') return skipped('the warehouse did not answer')
  const schemaChanges = pipeline.schema_changes as SchemaChanges
  if ('failure' in outcome) {
    const { code, message } = outcome.failure
    // For an empty list, a run uses the columns of the last load with the same settings.
    const hasColumns = code === 'EMPTY_SOURCE' && remembered?.columns.some(({ vanished }) => !vanished)
    return { mismatch: hasColumns ? describeEmptying(schemaChanges) : describeFailure(message) }
  }
  const { columns, rows, rejected, complete, sparse = false, tooManyRejected } = outcome.found
  const hasNoRows = complete && rows.length === 0 && rejected.length === 0
  const sentences = [
    ...(tooManyRejected === undefined ? [] : [describeFailure(tooManyRejected)]),
    ...(last ? [compareColumns(last, columns, { schemaChanges, definition, sparse, hasRows: rows.length > 0 })] : []),
    ...(last && hasNoRows ? [describeEmptying(schemaChanges)] : []),
  ].filter(Boolean)
  return sentences.length > 0 ? { mismatch: sentences.join(' ') } : {}
}

/** With FAIL, a run fails if the table has 100 rows or more and the load has fewer than a tenth of them. */
const describeEmptying = (schemaChanges: SchemaChanges): string =>
  schemaChanges === 'FAIL'
    ? 'The file has no records. Because schemaChanges is FAIL, a run would fail if the table has 100 rows or more, and empty a smaller table.'
    : 'The file has no records, so a run would empty the table.'

const describeFailure = (why: string): string => `A run would fail: ${why}`

async function findLastFeed(
  { db, warehouses }: CheckContext,
  pipeline: DataPipelineRow,
): Promise<FeedMemory | undefined> {
  const warehouse = await warehouses.find(pipeline.client)
  return warehouse?.findFeed(await schemaOf(db, pipeline), pipeline.table_name)
}

/**
 * Reads the first row of a received file. The memory of the last load (`remembered`) sets the
 * delimiter, the date order and the decimal sign, as in a run. Throws a 422 for a file that no
 * setting makes readable.
 */
export async function readFirstRow(
  input: CheckContext,
  { type, settings }: Pick<DataPipelineRow, 'type' | 'settings'>,
  file: ReceivedUpload,
  remembered?: FeedMemory,
): Promise<FirstRowResult> {
  const reading = { type, settings, secrets: {}, input: { file }, ...(remembered && { remembered }) }
  try {
    const { found } = await readFirstRows(input, reading, 1)
    return { found }
  } catch (error) {
    const code = sourceProblemCode(error)
    if (code === undefined) {
      logUnknown(input, error)
      return skipped(whyUnknown(error))
    }
    const { message } = error as Error
    if (code === 'PREVIEW_TOO_LARGE') return { checkSkipped: message }
    if (!unreadableCodes.has(code)) return { failure: { code, message } }
    throw new Problem(422, 'source-unreadable', 'The source cannot be read.', {
      detail: `${message} The upload was discarded; any earlier file stays.`,
      cause: error,
    })
  }
}

const skipped = (why: string) => ({ checkSkipped: `The file was stored without a check, because ${why}.` })

function whyUnknown(error: unknown): string {
  if (!(error instanceof Problem)) return 'the check failed. A run reads the whole file and reports its problems'
  const isBusy = error.status === 429 || error.code === 'busy'
  return isBusy ? 'other previews are running' : 'the check took too long'
}

/** Logs an error that is neither a problem nor translated to one. */
function logUnknown({ logger }: CheckContext, error: unknown): void {
  if (!(error instanceof Problem) && !translate(error)) logger.error({ err: error }, 'an upload could not be checked')
}
