import type { SchemaChanges } from '@sluice/contracts'
import { Problem } from '@sluice/http'
import { compareColumns } from '../../compare-columns.ts'
import type { SourcePreview } from '../../engine/sources/preview/source-preview.ts'
import type { FeedMemory } from '../../engine/warehouses/shape/feed-memory.ts'
import { sourceProblemCode, translate } from '../../problems.ts'
import { definitionOf } from '../../source-definition.ts'
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

/** What the response to an upload says about the file; empty for a file that fits. */
export interface UploadCheck {
  /** How the file differs from the last load, what a run would do about it, or why it would fail. */
  mismatch?: string
  /** Why the file was stored without a check. */
  checkSkipped?: string
}

/** The first row of a file, or why the settings of the pipeline do not read it, or why the check is not possible now. */
type FirstRow = { found: SourcePreview } | { failure: { code: string; message: string } } | { checkSkipped: string }

/**
 * Compares a received file with the last load of its pipeline. Throws a 422 for a file that no setting makes readable.
 */
export async function checkUpload(
  input: CheckContext,
  pipeline: DataPipelineRow,
  file: ReceivedUpload,
): Promise<UploadCheck> {
  const outcome = await readFirstRow(input, pipeline, file)
  if ('checkSkipped' in outcome) return outcome
  const isEmptyList = 'failure' in outcome && outcome.failure.code === 'EMPTY_SOURCE'
  if ('failure' in outcome && !isEmptyList) return failing(outcome.failure)
  let last: FeedMemory | undefined
  try {
    last = await findLastFeed(input, pipeline)
  } catch (error) {
    logUnknown(input, error)
    return skipped('the warehouse did not answer')
  }
  const definition = definitionOf(pipeline)
  const schemaChanges = pipeline.schema_changes as SchemaChanges
  if ('failure' in outcome) {
    const isSame = last?.definition === undefined || last.definition === definition
    // A run takes the columns of an empty list from the last load with the same settings.
    return isSame && last?.columns.some(({ vanished }) => !vanished)
      ? { mismatch: emptied(schemaChanges) }
      : failing(outcome.failure)
  }
  if (!last) return {}
  const { columns, rows, rejected, complete, sparse = false } = outcome.found
  const hasNoRows = complete && rows.length === 0 && rejected.length === 0
  const sentences = [
    compareColumns(last, columns, { schemaChanges, definition, sparse }),
    ...(hasNoRows ? [emptied(schemaChanges)] : []),
  ].filter(Boolean)
  return sentences.length > 0 ? { mismatch: sentences.join(' ') } : {}
}

/** FAIL refuses a load that brings fewer than a tenth of 100 rows or more. */
const emptied = (schemaChanges: SchemaChanges): string =>
  schemaChanges === 'FAIL'
    ? 'The file has no records: a run would empty the table or, because schemaChanges is FAIL, fail if it has 100 rows or more.'
    : 'The file has no records, so a run would empty the table.'

const failing = ({ message }: { message: string }): UploadCheck => ({ mismatch: `A run would fail: ${message}` })

async function findLastFeed(
  { db, warehouses }: CheckContext,
  pipeline: DataPipelineRow,
): Promise<FeedMemory | undefined> {
  const warehouse = await warehouses.find(pipeline.client)
  return warehouse?.findFeed(await schemaOf(db, pipeline), pipeline.table_name)
}

/** Reads the first row of a received file. Throws a 422 for a file that no setting makes readable. */
export async function readFirstRow(
  input: CheckContext,
  { type, settings }: Pick<DataPipelineRow, 'type' | 'settings'>,
  file: ReceivedUpload,
): Promise<FirstRow> {
  try {
    const { found } = await readFirstRows(input, { type, settings, secrets: {}, input: { file } }, 1)
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
  if (!(error instanceof Problem)) return 'the check failed; the run reads the file in full'
  const isBusy = error.status === 429 || error.code === 'busy'
  return isBusy ? 'other previews are running' : 'the check took too long'
}

/** Logs an error that is neither a problem nor translated to one. */
function logUnknown({ logger }: CheckContext, error: unknown): void {
  if (!(error instanceof Problem) && !translate(error)) logger.error({ err: error }, 'an upload could not be checked')
}
