import type { DataPipeline, SchemaChanges, WriteMode } from '@sluice/contracts'
import { Problem } from '@sluice/http-server'
import { SemaphoreBusy } from '@sluice/process'
import { compareColumns } from '../../compare-columns.ts'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import type { SourceShape } from '@sluice/warehouses/shape/previous-source-columns'
import type { TypeRules } from '@sluice/warehouses/shape/plan-shape'
import { findSourceProblemCode, translateDatabaseError } from '../../problems/map-database-errors.ts'
import { sourceDefinitionDigest, discardOutdatedShape } from '../../source-definition-digest.ts'
import type { RequestContext } from '../operation-context.ts'
import { isFileLoaded } from '@sluice/connectors/uploaded-file/loaded-file-digests'
import { describeKeyProblems } from './write-mode.ts'
import { readSchemaName } from './loaded-table.ts'
import { readFirstRows } from './preview.ts'
import type { DataPipelineRow } from './records.ts'

/**
 * Codes of problems with the file itself. Other problems may be caused by settings, which the user can change after the
 * upload.
 */
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

type CheckContext = Pick<RequestContext, 'sources' | 'warehouses' | 'caller' | 'request' | 'db' | 'keyRing' | 'logger'>

interface ReceivedUpload {
  uid: string
  name: string
  sha256: string
}

/** The part of an upload's response that reports the check of the file. Empty if the file passes. */
export interface UploadCheck {
  /** How the file differs from the last load, and what a run would do about that, or why a run would fail. */
  mismatch?: string
  /** The reason why the file was stored without a check. */
  checkSkipped?: string
}

/**
 * The first rows of a file, or why the settings of the pipeline cannot read it, or why the check is not possible now.
 */
type FirstRowsResult =
  | { preview: SourcePreview }
  | { failure: { code: string; message: string } }
  | { checkSkipped: string }

/**
 * Checks the first rows of an uploaded file, and compares its columns with the last load of its pipeline. Returns what
 * does not match, or why the check was skipped; an empty object if everything matches. Throws 422 for a file that
 * cannot be read with any settings.
 */
export async function checkUpload(
  input: CheckContext,
  pipeline: DataPipelineRow,
  file: ReceivedUpload,
): Promise<UploadCheck> {
  const { lastLoad, isWarehouseFailing } = await tryFindLastLoad(input, pipeline)
  const previousShape = discardOutdatedShape(sourceDefinitionDigest(pipeline), lastLoad?.sourceShape)
  // The keys of a large file are only compared in its first rows, because the check delays the response to the upload.
  const rows = getMergeKey(pipeline).length > 0 ? maxComparedKeys : 1
  const firstRows = await readUploadRows(input, pipeline, file, { rows, previousShape })
  if ('checkSkipped' in firstRows) return firstRows
  if (isWarehouseFailing) return skippedCheck('the warehouse did not answer')
  if (pipeline.write_mode === 'APPEND' && isFileLoaded(lastLoad?.cursor, file.sha256))
    return { mismatch: describeLoadedUpload(file.name) }
  if ('failure' in firstRows) return { mismatch: describeUnreadable(firstRows.failure, previousShape, pipeline) }
  const sentences = describePreview(firstRows.preview, lastLoad, pipeline)
  return sentences.length > 0 ? { mismatch: sentences.join(' ') } : {}
}

const getMergeKey = ({ merge_key }: DataPipelineRow): string[] => (merge_key ?? []) as string[]

/** Returns what a run would do with a file that the settings of the pipeline cannot read. */
function describeUnreadable(
  { code, message }: { code: string; message: string },
  previousShape: SourceShape | undefined,
  pipeline: DataPipelineRow,
): string {
  // If a file has no header and no rows, a run uses the columns of the last load, if that had the same settings.
  const hasPreviousColumns = previousShape?.columns.some(({ vanished }) => !vanished)
  return code === 'EMPTY_SOURCE' && hasPreviousColumns ? describeEmptying(pipeline) : describeFailure(message)
}

/** Returns sentences on what the next run would do with the file; none if everything matches the last load. */
function describePreview(preview: SourcePreview, lastLoad: LastLoad | undefined, pipeline: DataPipelineRow): string[] {
  const keyProblems = describeKeyProblems(preview, getMergeKey(pipeline), { isTransformed: isTransformed(pipeline) })
  const findDifferences = () => (lastLoad ? compareWithLastLoad(lastLoad, preview, pipeline) : listFailures(preview))
  const sentences = keyProblems.length > 0 ? keyProblems : findDifferences()
  return preview.unread === undefined ? sentences : [...sentences, preview.unread]
}

const isTransformed = ({ transformation }: DataPipelineRow): boolean =>
  ((transformation as DataPipeline['transformation'])?.sqlStatements ?? []).length > 0

/**
 * Returns sentences on what the next run would do with the file. If the run would fail, they describe only the failure.
 */
function compareWithLastLoad(
  { sourceShape, rules }: LastLoad,
  preview: SourcePreview,
  pipeline: DataPipelineRow,
): string[] {
  const { columns, rows, rejected, complete, sparse = false, typesKnown = false } = preview
  const isFileWithoutRows = complete && rows.length === 0 && rejected.length === 0
  // If the check read only a part of the file and found no row, the rest may have rows: their number is unknown, not 0.
  const isRowCountKnown = isFileWithoutRows || rows.length > 0
  const { isRefused, sentence } = compareColumns(
    rules,
    sourceShape,
    { columns, sparse, typesKnown, ...(isRowCountKnown && { rows: rows.length }) },
    {
      schemaChanges: pipeline.schema_changes as SchemaChanges,
      keepsRows: pipeline.write_mode !== 'REPLACE',
      definition: sourceDefinitionDigest(pipeline),
      transforms: isTransformed(pipeline),
    },
  )
  const failures = isRefused ? [sentence] : listFailures(preview)
  if (failures.length > 0) return failures
  const sentences = sentence === '' ? [] : [sentence]
  return isFileWithoutRows ? [...sentences, describeEmptying(pipeline)] : sentences
}

/** Returns why a run would fail, or would probably reject rows. */
const listFailures = ({ tooManyRejected, likelyRejected }: SourcePreview): string[] => [
  ...(tooManyRejected === undefined ? [] : [describeFailure(tooManyRejected)]),
  ...(likelyRejected === undefined ? [] : [likelyRejected]),
]

/**
 * Returns what a run would do with a file without records. With schemaChanges FAIL, a run fails if the load has less
 * than a tenth of the table's rows and the table has at least 100.
 */
function describeEmptying({ schema_changes, write_mode }: DataPipelineRow): string {
  if ((write_mode as WriteMode) !== 'REPLACE') return 'The file has no records, so a run would change no rows.'
  return schema_changes === 'FAIL'
    ? 'The file has no records. With schemaChanges FAIL, a run fails if the table has 100 rows or more; a smaller table loses all its rows.'
    : 'The file has no records, so a run would empty the table.'
}

const describeLoadedUpload = (name: string): string =>
  `The rows of "${name}" are already in the table, so a run would add nothing. To add them again, run with "repeatFile": true.`

const describeFailure = (reason: string): string => `A run would fail: ${reason}`

/** A preview reads at most as many rows. */
const maxComparedKeys = 5_000

/** Short, because the check delays the response to an upload. */
const uploadCheckTimeoutMs = 10_000

interface LastLoad {
  sourceShape: SourceShape
  cursor: unknown
  rules: TypeRules
}

/** Finds the last load. If the warehouse fails, returns that instead of throwing, and logs unexpected errors. */
async function tryFindLastLoad(
  input: CheckContext,
  pipeline: DataPipelineRow,
): Promise<{ lastLoad: LastLoad | undefined; isWarehouseFailing: boolean }> {
  try {
    return { lastLoad: await findLastLoad(input, pipeline), isWarehouseFailing: false }
  } catch (error) {
    logUnexpected(input, error)
    return { lastLoad: undefined, isWarehouseFailing: true }
  }
}

/** Returns the columns, the cursor and the type rules of the last load; undefined before the first load. */
async function findLastLoad(
  { db, warehouses }: CheckContext,
  pipeline: DataPipelineRow,
): Promise<LastLoad | undefined> {
  const warehouse = await warehouses.find(pipeline.client)
  if (!warehouse) return undefined
  const schema = await readSchemaName(db, pipeline)
  const { sourceShape, cursor } = await warehouse.loader.findLastLoad(schema, pipeline.table_name)
  if (!sourceShape) return undefined
  return { sourceShape, cursor, rules: await warehouse.loader.typeRules(schema) }
}

/**
 * Reads the first rows of a received file. Instead of them, returns `failure` if the rows cannot be read with the
 * current settings, and `checkSkipped` if reading failed for another reason. `previousShape` has the delimiter, the
 * date order and the decimal sign of the last load, which a run uses too. Throws 422 for a file that no setting makes
 * readable.
 */
export async function readUploadRows(
  input: CheckContext,
  { type, settings }: Pick<DataPipelineRow, 'type' | 'settings'>,
  file: Pick<ReceivedUpload, 'uid' | 'name'>,
  { rows, previousShape }: { rows: number; previousShape?: SourceShape | undefined },
): Promise<FirstRowsResult> {
  const reading = { type, settings, secrets: {}, input: { file }, ...(previousShape && { previousShape }) }
  try {
    const { preview } = await readFirstRows(input, reading, { rows, timeoutMs: uploadCheckTimeoutMs })
    return { preview }
  } catch (error) {
    const code = findSourceProblemCode(error)
    const isProblemOfSource = code !== undefined
    if (!isProblemOfSource) {
      logUnexpected(input, error)
      return skippedCheck(describeSkip(error))
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

const skippedCheck = (reason: string) => ({
  checkSkipped: `The file was stored without a check, because ${reason}. The next run reads the whole file and reports its problems.`,
})

function describeSkip(error: unknown): string {
  if (isBusy(error)) return 'too many previews are running'
  return error instanceof Problem ? 'the check took too long' : 'the check had an internal error'
}

const isBusy = (error: unknown): boolean =>
  error instanceof SemaphoreBusy || (error instanceof Problem && (error.status === 429 || error.code === 'busy'))

/**
 * Logs an unexpected error: not a problem, not a database error that can be translated to one, and not a busy
 * semaphore.
 */
function logUnexpected({ logger }: CheckContext, error: unknown): void {
  if (!isBusy(error) && !(error instanceof Problem) && !translateDatabaseError(error))
    logger.error({ err: error }, 'an upload could not be checked')
}
