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
 * Runs `callback` and then drops the staging tables that it added to `staging`. After an error, keeps them if `retain`
 * is set or a later attempt may publish them.
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
    if (isWarehouseFull(error)) throw error
    const keepsTables = retain || (await mayPublishLater?.(error))
    // `move` empties the stack, so the end of this function drops no tables.
    if (keepsTables) staging.move()
    throw error
  }
}

/**
 * Stages all row streams, runs the transformation on the staged rows, and publishes all tables in one publication. A
 * dry run (`onPlan`) only plans the publication. Adds each staging table to `staging`, so that disposing the stack
 * drops the tables.
 */
async function stageAndPublish(job: LoadJob, staging: AsyncDisposableStack): Promise<LoadedTable[]> {
  const { warehouse, signal, gate, onPlan, transformation = [] } = job
  const { loads, profiles, cursors, rows, isWholeSource } = await stageAllStreams(job, staging)
  assertFewRejected(rows, { rejectedBefore: 0 }, job)
  if (loads.size === 0) return []
  job.onRowsStaged?.(rows)
  // The rows of a whole source replace all rows, even if the job requests a merge.
  const mode = isWholeSource ? 'REPLACE' : job.mode
  if (mode !== job.mode) job.onReplace?.()
  const stagedTables = [...loads.values()]
  const isDryRun = onPlan !== undefined
  await warehouse.loader.transform(stagedTables, transformation, signal, {
    retain: job.retain === true,
    dry: isDryRun,
  })
  if (isDryRun) {
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
  for await (const rowStream of job.rowStreams) {
    job.signal.throwIfAborted()
    const table = rowStream.table || job.target.table
    if (staged.loads.has(table))
      throw new LoadProblem('DUPLICATE_TABLE', `The source provides table "${table}" twice. Rename one of the two.`)
    const rejectedBefore = job.rejected().count
    // A stream that lists the tables of the source is not data of the source.
    const isData = !rowStream.listsTables
    if (isData) job.onTable?.start(table)
    const { load, writtenRows, profile } = await stageTableRows(
      rowStream,
      table,
      [...staged.loads.keys()],
      job,
      staging,
    )
    staged.loads.set(table, load)
    if (profile) staged.profiles.set(table, profile)
    if (isData) {
      staged.rows += writtenRows.rows
      job.onTable?.finish(writtenRows.rows)
    }
    assertFewRejected(writtenRows.rows, { rejectedBefore }, job)
    if (rowStream.cursor) staged.cursors[table] = rowStream.cursor()
    if (rowStream.whole?.()) staged.isWholeSource = true
  }
  return staged
}

/**
 * Stages the row stream of one table. Returns also the profile of its rows, unless no profile is wanted or none
 * describes the staged rows.
 */
async function stageTableRows(
  rowStream: RowStream,
  table: string,
  earlierTables: readonly string[],
  job: LoadJob,
  staging: AsyncDisposableStack,
) {
  const parentRecords = parentRecordsOf(rowStream, table, job)
  const target = createLoadTarget(job, rowStream, table, parentRecords, earlierTables)
  const isProfiled = job.storeProfile !== undefined && !job.onPlan && !job.transformation?.length
  const { load, writtenRows, profile } = await stageRowStream(
    rowStream,
    { signal: job.signal, isProfiled, setKey: (columns) => withKey(columns, table, job) },
    staging,
    (columns, number) => job.warehouse.loader.stage({ ...target, columns, staging: number }, job.signal),
  )
  if (writtenRows.superseded) {
    job.onSuperseded?.(writtenRows.superseded)
    // The profile has measured superseded rows too, so it does not describe the staged rows.
    return { load, writtenRows }
  }
  const measuredStream = profile && { ...rowStream, ...(parentRecords && { parentRecords }), profile }
  return { load, writtenRows, profile: measuredStream }
}

/** Returns the target of a row stream's load. The columns and the number of the staging table are known only later. */
function createLoadTarget(
  { target, run, attempt, mode, mergeKey, shape, onPlan }: LoadJob,
  { sparse = false, unread, deletedColumn, listsTables, precedence }: RowStream,
  table: string,
  parentRecords: ParentRecords | undefined,
  otherReplacedTables: readonly string[],
): Omit<LoadTarget, 'columns' | 'staging'> {
  // `mergeKey` replaces the source's key in the target table, so several source rows can have the same key.
  const hasMergeKey = mergeKey !== undefined && table === target.table
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
    ...(hasMergeKey && precedence && { precedence }),
    otherReplacedTables,
  }
}

/**
 * Throws `LoadProblem` if too many rows of this table were rejected. `rejectedBefore` is the number of rows of earlier
 * tables that were rejected. They do not count, so that good tables of the run do not hide a bad one.
 */
function assertFewRejected(
  rows: number,
  { rejectedBefore }: { rejectedBefore: number },
  { rejected }: Pick<LoadJob, 'rejected'>,
): void {
  const { count, first } = rejected()
  const problem = describeTooManyRejected(rows, { count: count - rejectedBefore, first })
  if (problem) throw new LoadProblem('TOO_MANY_REJECTED_ROWS', problem)
}

type MeasuredStream = Pick<RowStream, 'parentRecords' | 'deletedColumn'> & { profile: RowsProfile }

/**
 * Stores the profiles of the tables and sets `profile` of each load to the id of the stored profile. Skips profiles
 * that do not describe the rows of the published table.
 */
async function storeProfiles(
  { storeProfile }: LoadJob,
  mode: LoadJob['mode'],
  loads: ReadonlyMap<string, StagedTable>,
  profiles: ReadonlyMap<string, MeasuredStream>,
): Promise<void> {
  for (const [table, load] of loads) {
    const measuredStream = profiles.get(table)
    // The transformation may have changed the measured rows.
    if (!measuredStream || load.transformed) continue
    const { profile, parentRecords } = measuredStream
    const measuredParents = parentRecords && profiles.get(parentRecords.table)
    if (keepsRows(mode)) {
      // A merge deletes the rows that a column marks as deleted, and the profile has measured them.
      if (hasDeletedColumn(measuredStream) || hasDeletedColumn(measuredParents)) continue
      // A merge without rows changes nothing, so the table keeps its earlier profile (`profileToPublish`). A table of
      // child rows is an exception, because the merge can delete rows of changed parent records.
      if (profile.rows === 0 && !parentRecords) continue
    }
    const sourceColumns = new Set(load.suppliedColumns)
    const columns = profile.columns.filter(({ column }) => sourceColumns.has(column))
    load.profile = await storeProfile?.(table, { ...profile, columns })
  }
}

const hasDeletedColumn = (rowStream: Pick<RowStream, 'deletedColumn'> | undefined): boolean =>
  rowStream?.deletedColumn !== undefined

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
 * Writes a row stream to a staging table and adds the table to `stagedLoads`. If a value needs a wider column type,
 * drops the table and reads the stream again into a new table with these types. The new table has another number in its
 * name, because a reader can delay the drop. Returns the rows' profile if `isProfiled` is set. Throws `LoadProblem`
 * TYPES_NOT_SETTLED if the types are still too narrow in the last of `maxStagings` tables.
 */
async function stageRowStream(
  { columns, content }: RowStream,
  {
    signal,
    isProfiled,
    setKey,
  }: { signal: AbortSignal; isProfiled: boolean; setKey: (columns: readonly Column[]) => Column[] },
  stagedLoads: AsyncDisposableStack,
  createStagingTable: (columns: RowStream['columns'], stagingNumber: number) => Promise<StagedTable>,
) {
  let stagedColumns = setKey(withShortLabels(columns))
  for (let stagingNumber = 1; ; stagingNumber += 1) {
    const load = await createStagingTable(stagedColumns, stagingNumber)
    try {
      await failpoint('staging-made')
      const profiled: ProfiledContent = isProfiled ? addProfiler(content, stagedColumns) : { content }
      const writtenRows = await load.write(profiled.content, signal)
      await failpoint('copied')
      return { load: stagedLoads.use(load), writtenRows, profile: profiled.profile?.() }
    } catch (error) {
      if (!(error instanceof TypesWidened)) {
        stagedLoads.use(load)
        throw error
      }
      await load[Symbol.asyncDispose]()
      if (stagingNumber === maxStagings) throw unstableTypes(stagedColumns, error.columns)
      stagedColumns = setKey(withShortLabels(error.columns))
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
