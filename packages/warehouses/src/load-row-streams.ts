import { failpoint } from '@sluice/process'
import { parentRecordsOf, withKey } from './write-mode.ts'
import {
  type Column,
  type RowContent,
  TableProfiler,
  type RowsProfile,
  type RowStream,
  TypesWidened,
  describeTooManyRejected,
} from '@sluice/row-stream'
import {
  keepsRows,
  LoadProblem,
  type LoadTarget,
  type ParentRecords,
  type StagedTable,
  type PublishedTable,
  type PlanOptions,
  type PublishOptions,
  type ShapeRequest,
  type TransformationStatement,
  type Warehouse,
} from './warehouse.ts'

export { LoadProblem } from './warehouse.ts'

/** One table of a finished run: its name, its row count, its bytes in COPY format and its column changes. */
export type LoadedTable = PublishedTable

export interface PublicationJob extends Pick<PublishOptions, 'gate' | 'onBackgroundWork' | 'onWait'> {
  warehouse: Warehouse
  /** True if this attempt may still publish. Called again immediately before the publication. */
  isCurrentAttempt: () => Promise<boolean>
  signal: AbortSignal
  /** True if staging tables are kept for inspection after a failed load. */
  retain?: boolean
  /**
   * Returns true if a later attempt may still publish the staged rows after this error. Otherwise they are dropped at
   * once.
   */
  mayPublishLater?: (error: unknown) => Promise<boolean>
}

/**
 * The staged rows of all row streams of a run: complete, transformed and not yet published. A row stream is one
 * stream of rows for one table.
 */
export interface StagedLoad extends Pick<PublishOptions, 'mode' | 'keepsPrevious'> {
  tables: readonly StagedTable[]
  cursors: Record<string, unknown>
}

export interface LoadJob extends PublicationJob {
  rowStreams: AsyncIterable<RowStream>
  /** The schema, and the table for a row stream without a name. */
  target: { schema: string; table: string }
  run: string
  attempt: number
  /** Returns the number of rejected rows so far, and the first few of them. */
  rejected: () => { count: number; first?: string | undefined }
  /** SQL statements of the pipeline. They run after the rows of all row streams are staged. */
  transformation?: readonly TransformationStatement[]
  /**
   * In the modes MERGE and APPEND, existing rows stay in the tables, except in the table of a row stream that is
   * complete. APPEND ignores the source's key.
   */
  mode?: PublishOptions['mode']
  keepsPrevious?: PublishOptions['keepsPrevious']
  /**
   * The names or labels of the columns that identify a row of the target table, instead of the source's key. Not for
   * APPEND.
   */
  mergeKey?: readonly string[] | undefined
  /** Called if rows were not loaded, because other rows with their keys take precedence (`RowStream.precedence`). */
  onSuperseded?: (rows: number) => void
  /** Called before a publication that replaces the tables although another mode was requested. */
  onReplace?: () => void
  /** Called before the first row and after the last row of each table with data of the source. */
  onTable?: { start(table: string): void; finish(rows: number): void }
  onRowsStaged?: (rows: number) => void
  /** Receives the staged row streams before they are published. */
  onStaged?: (stagedLoad: StagedLoad) => Promise<void>
  /** The rules for comparing the source's columns with the tables' columns. */
  shape?: Omit<ShapeRequest, 'sparse' | 'unread' | 'merging'>
  /**
   * Set if column statistics are wanted. Stores the profile of a table and returns its id, or undefined if the profile
   * is no longer wanted. The ledger (Sluice's table of loads) refers to this id.
   */
  storeProfile?: (table: string, profile: RowsProfile) => Promise<string | undefined>
  /** Set for a dry run, which publishes nothing. Receives the plan. */
  onPlan?: PlanOptions['onPlan']
}

/**
 * Loads every row stream of a run into staging tables and publishes all of them atomically. A dry run publishes
 * nothing. If an earlier attempt has already published the run, returns its tables from the ledger. Throws the source's
 * problem, `WarehouseProblem`, `LoadProblem`, `LeaseLost` or the signal's reason, after dropping the staging tables
 * unless they are retained.
 */
export function loadRowStreams(job: LoadJob): Promise<LoadedTable[]> {
  return withStaging(job, (staging) => stageAndPublish(job, staging))
}

/** Publishes row streams that an earlier attempt has staged. Throws the errors of `Loader.publish`. */
export function publishStagedLoad(stagedLoad: StagedLoad, job: PublicationJob): Promise<LoadedTable[]> {
  return withStaging(job, (staging) => {
    for (const table of stagedLoad.tables) staging.use(table)
    return publishStaged(stagedLoad, job)
  })
}

/**
 * Runs `callback` and then drops the staging tables. After an error, keeps them if `retain` is set or a later attempt
 * may publish them. An error WAREHOUSE_FULL drops them in any case.
 */
async function withStaging(
  { retain, mayPublishLater }: Pick<PublicationJob, 'retain' | 'mayPublishLater'>,
  callback: (staging: AsyncDisposableStack) => Promise<LoadedTable[]>,
): Promise<LoadedTable[]> {
  await using staging = new AsyncDisposableStack()
  try {
    return await callback(staging)
  } catch (error) {
    // A full warehouse has no space to retain staging tables.
    const keepsTables = !isWarehouseFull(error) && (retain || (await mayPublishLater?.(error)))
    if (keepsTables) staging.move()
    throw error
  }
}

/**
 * Stages all row streams and publishes them in one publication. Adds each staging table to `staging`, so that disposing
 * the stack drops the tables.
 */
async function stageAndPublish(job: LoadJob, staging: AsyncDisposableStack): Promise<LoadedTable[]> {
  const { warehouse, signal, gate, onPlan, transformation = [] } = job
  const { loads, profiles, cursors, rows, isWholeSource } = await stageAllStreams(job, staging)
  assertFewRejected(rows, 0, job)
  if (loads.size === 0) return []
  job.onRowsStaged?.(rows)
  const mode = isWholeSource ? 'REPLACE' : job.mode
  if (mode !== job.mode) job.onReplace?.()
  const stagedTables = [...loads.values()]
  await warehouse.loader.transform(stagedTables, transformation, signal, {
    retain: job.retain === true,
    dry: onPlan !== undefined,
  })
  if (onPlan) {
    await warehouse.loader.plan(stagedTables, signal, { ...(mode && { mode }), ...(gate && { gate }), onPlan })
    return []
  }
  await storeProfiles(job, mode, loads, profiles)
  const stagedLoad = {
    tables: stagedTables,
    cursors,
    ...(mode && { mode }),
    ...(job.keepsPrevious && { keepsPrevious: true }),
  }
  await job.onStaged?.(stagedLoad)
  await failpoint('rows-staged')
  return publishStaged(stagedLoad, job)
}

/** The staged row streams of a run. The keys of the maps and of `cursors` are table names. */
interface StagedStreams {
  loads: Map<string, StagedTable>
  profiles: Map<string, MeasuredStream>
  cursors: Record<string, unknown>
  /** The rows of all tables, without the table that lists the other tables. */
  rows: number
  /** True if a row stream is the whole source, so that its rows replace all rows. */
  isWholeSource: boolean
}

/** Stages one row stream after the other. Throws if a table has two row streams or too many rejected rows. */
async function stageAllStreams(job: LoadJob, staging: AsyncDisposableStack): Promise<StagedStreams> {
  const staged: StagedStreams = { loads: new Map(), profiles: new Map(), cursors: {}, rows: 0, isWholeSource: false }
  const { loads, profiles, cursors } = staged
  const isProfiled = job.storeProfile !== undefined && !job.onPlan && !job.transformation?.length
  for await (const rowStream of job.rowStreams) {
    job.signal.throwIfAborted()
    const table = rowStream.table || job.target.table
    if (loads.has(table))
      throw new LoadProblem('DUPLICATE_TABLE', `The source provides table "${table}" twice. Rename one of the two.`)
    const { listsTables } = rowStream
    const parentRecords = parentRecordsOf(rowStream, table, job)
    const target = createLoadTarget(job, rowStream, table, parentRecords, [...loads.keys()])
    const rejectedBefore = job.rejected().count
    if (!listsTables) job.onTable?.start(table)
    const setKey = (columns: readonly Column[]) => withKey(columns, table, job)
    const { load, writtenRows, profile } = await stageRowStream(
      rowStream,
      { signal: job.signal, isProfiled, setKey },
      staging,
      (columns, number) => job.warehouse.loader.stage({ ...target, columns, staging: number }, job.signal),
    )
    loads.set(table, load)
    if (writtenRows.superseded) job.onSuperseded?.(writtenRows.superseded)
    // The profile has measured superseded rows too, so it does not describe the staged rows.
    if (profile && !writtenRows.superseded)
      profiles.set(table, { ...rowStream, ...(parentRecords && { parentRecords }), profile })
    if (!listsTables) {
      staged.rows += writtenRows.rows
      job.onTable?.finish(writtenRows.rows)
    }
    assertFewRejected(writtenRows.rows, rejectedBefore, job)
    if (rowStream.cursor) cursors[table] = rowStream.cursor()
    if (rowStream.whole?.()) staged.isWholeSource = true
  }
  return staged
}

/** Returns the target of a row stream's load. The columns and the number of the staging table are known only later. */
function createLoadTarget(
  { target, run, attempt, mode, mergeKey, shape, onPlan }: LoadJob,
  { sparse = false, unread, deletedColumn, listsTables, precedence }: RowStream,
  table: string,
  parentRecords: ParentRecords | undefined,
  otherReplacedTables: readonly string[],
): Omit<LoadTarget, 'columns' | 'staging'> {
  const usesPrecedence = precedence && mergeKey && table === target.table
  return {
    schema: target.schema,
    table,
    run,
    attempt,
    shape: { ...shape, sparse, ...(unread !== undefined && { unread }), merging: keepsRows(mode) },
    ...(onPlan && { dry: true }),
    ...(parentRecords && { parentRecords }),
    ...(deletedColumn !== undefined && { deletedColumn }),
    ...(listsTables && { listsTables }),
    ...(usesPrecedence && { precedence }),
    otherReplacedTables,
  }
}

/**
 * Throws `LoadProblem` if too many rows of this table were rejected. `rejectedBefore` is the number of rows of earlier
 * tables that were rejected. They do not count, so that good tables of the run do not hide a bad one.
 */
function assertFewRejected(rows: number, rejectedBefore: number, { rejected }: Pick<LoadJob, 'rejected'>): void {
  const { count, first } = rejected()
  const problem = describeTooManyRejected(rows, { count: count - rejectedBefore, first })
  if (problem) throw new LoadProblem('TOO_MANY_REJECTED_ROWS', problem)
}

type MeasuredStream = Pick<RowStream, 'parentRecords' | 'deletedColumn'> & { profile: RowsProfile }

/**
 * Stores the profile of each table that has a valid one. A table has none in these cases:
 *
 * - A transformation may have changed the measured rows.
 * - A merge deletes some of the measured rows, so the profile would include deleted records.
 * - A merge without rows changes nothing. The table then keeps its earlier profile, see `profileToPublish`. A table of
 *   child rows gets a new profile, because the merge can delete rows of changed parent records.
 */
async function storeProfiles(
  { storeProfile }: LoadJob,
  mode: LoadJob['mode'],
  loads: ReadonlyMap<string, StagedTable>,
  profiles: ReadonlyMap<string, MeasuredStream>,
): Promise<void> {
  for (const [table, load] of loads) {
    const measuredStream = profiles.get(table)
    if (!measuredStream || load.transformed) continue
    const { profile, parentRecords, deletedColumn } = measuredStream
    const parentDeletedColumn = parentRecords && profiles.get(parentRecords.table)?.deletedColumn
    const mayDeleteRows = (deletedColumn ?? parentDeletedColumn) !== undefined
    const isUnchanged = profile.rows === 0 && !parentRecords
    if (keepsRows(mode) && (isUnchanged || mayDeleteRows)) continue
    const sourceColumns = new Set(load.suppliedColumns)
    const columns = profile.columns.filter(({ column }) => sourceColumns.has(column))
    load.profile = await storeProfile?.(table, { ...profile, columns })
  }
}

async function publishStaged(
  { tables, cursors, mode, keepsPrevious }: StagedLoad,
  { warehouse, isCurrentAttempt, signal, gate, onBackgroundWork, onWait }: PublicationJob,
): Promise<LoadedTable[]> {
  const options = {
    ...(mode && { mode }),
    ...(keepsPrevious && { keepsPrevious }),
    cursors,
    ...(gate && { gate }),
    ...(onBackgroundWork && { onBackgroundWork }),
    ...(onWait && { onWait }),
  }
  return (await warehouse.loader.publish(tables, isCurrentAttempt, signal, options)).tables
}

/**
 * The maximum number of times that a row stream is staged again. Types that were inferred from samples can be too
 * narrow once, and each of several objects can widen the columns again.
 */
const maxStagings = 20

/**
 * Writes a row stream to a staging table. If its columns need wider types, drops the table and writes the stream again
 * to a new one with another name, because a reader can delay the drop. Adds the staging table to `stagedLoads`. Returns
 * its profile if `isProfiled` is set. Throws `LoadProblem` TYPES_NOT_SETTLED after `maxStagings` tables.
 */
async function stageRowStream(
  { columns, content }: RowStream,
  {
    signal,
    isProfiled,
    setKey,
  }: { signal: AbortSignal; isProfiled: boolean; setKey: (columns: readonly Column[]) => Column[] },
  stagedLoads: AsyncDisposableStack,
  beginStaging: (columns: RowStream['columns'], stagingNumber: number) => Promise<StagedTable>,
) {
  let keyedColumns = setKey(withShortLabels(columns))
  for (let stagingNumber = 1; ; stagingNumber += 1) {
    const load = await beginStaging(keyedColumns, stagingNumber)
    try {
      await failpoint('staging-made')
      const profiled: ProfiledContent = isProfiled ? addProfiler(content, keyedColumns) : { content }
      const writtenRows = await load.write(profiled.content, signal)
      await failpoint('copied')
      return { load: stagedLoads.use(load), writtenRows, profile: profiled.profile?.() }
    } catch (error) {
      if (!(error instanceof TypesWidened)) {
        stagedLoads.use(load)
        throw error
      }
      await load[Symbol.asyncDispose]()
      if (stagingNumber === maxStagings) throw unstableTypes(keyedColumns, error.columns)
      keyedColumns = setKey(withShortLabels(error.columns))
    }
  }
}

interface ProfiledContent {
  content: RowContent
  /** Returns the profile of the rows, or undefined until the last row has been read. */
  profile?(): RowsProfile | undefined
}

/** Wraps content so that its rows are measured while they stream to the warehouse. */
function addProfiler(content: RowContent, columns: readonly Column[]): ProfiledContent {
  let profile: RowsProfile | undefined
  async function* rows(types: Parameters<RowContent['rows']>[0]) {
    // A repeated read measures all rows again.
    profile = undefined
    using profiler = new TableProfiler(types)
    for await (const chunk of content.rows(types)) {
      profiler.add(chunk.bytes)
      yield chunk
    }
    profile = profiler.profile(columns)
  }
  return { content: { ...content, rows }, profile: () => profile }
}

/**
 * The maximum length of a column's label in UTF-16 code units. The catalogue, messages and later loads repeat labels.
 */
const maxLabelLength = 1_000

const withShortLabels = (columns: RowStream['columns']): RowStream['columns'] =>
  columns.map((column) =>
    column.label.length > maxLabelLength
      ? { ...column, label: column.label.slice(0, maxLabelLength).toWellFormed() }
      : column,
  )

/** True if the error or one of its causes is WAREHOUSE_FULL. Both a load and a transformation can fill the disk. */
function isWarehouseFull(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown }
  return code === 'WAREHOUSE_FULL' || (cause instanceof Error && isWarehouseFull(cause))
}

const maxNamedColumns = 5

/**
 * Returns the problem for a source that needed other types each time it was read. Names the first five columns with
 * other types than at the previous attempt to read it.
 */
function unstableTypes(previousColumns: RowStream['columns'], newColumns: RowStream['columns']): LoadProblem {
  const typeOf = ({ dataType, precision, scale }: Column) => JSON.stringify([dataType, precision, scale])
  const previousTypes = new Map(previousColumns.map((column) => [column.name, typeOf(column)]))
  const changedColumns = newColumns.filter((column) => previousTypes.get(column.name) !== typeOf(column))
  const namedColumns = changedColumns.length > 0 ? changedColumns : newColumns
  const columnTexts = namedColumns
    .slice(0, maxNamedColumns)
    .map(({ label }) => `"${label}"`)
    .join(', ')
  return new LoadProblem(
    'TYPES_NOT_SETTLED',
    `The source was read ${maxStagings} times, and each time its values needed other column types (columns ${columnTexts}), so the old data stays. Set the types of these columns, or convert them at the source.`,
  )
}
