import type { WriteMode } from '@sluice/contracts'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { sourceDefinitionDigest, discardOutdatedShape } from '../source-definition-digest.ts'
import { dropLeftover } from '../deleted-tables/pending-table-drops.ts'
import {
  type LoadedTable,
  loadRowStreams,
  type PublicationJob,
  publishStagedLoad,
  type StagedLoad,
} from '@sluice/warehouses/load-row-streams'
import type { Claim } from '../runs/claim-run.ts'
import { openMeter, logProgress } from '../runs/progress-meter.ts'
import { openRejectedRows } from '../runs/rejected-rows.ts'
import { storePlan } from '../run-lifecycle/finish-run.ts'
import { listRunsToKeep } from '../runs/runs-with-retained-data.ts'
import { deleteStagedLoads } from '../runs/staged-load-records.ts'
import type { ReadReporter } from '@sluice/row-stream'
import {
  isWarehouseGone,
  keepsRows,
  type PlannedTable,
  type PlanOptions,
  type Warehouse,
  WarehouseProblem,
} from '@sluice/warehouses/warehouse'
import { assertUndo, type WarehouseKind } from '@sluice/warehouses/warehouse-kinds'
import { storeProfile } from '../table-profiles/stored-profiles.ts'
import { namesVariables } from '../variables/replace-variables.ts'
import { assertVariablePlaces, insertVariablesIntoSql } from '../variables/insert-variables-into-sql.ts'
import { assertSourceVariablePlaces } from '../variables/resolve-source-variables.ts'
import { readVariables } from '../variables/variables.ts'
import { VariableProblem } from '../variables/variable-problem.ts'
import { getWarehouseLanguage } from '../variables/sql-syntax-rules.ts'
import { assertTableOwnership, type PipelineToLoad, readPipeline, readSource } from './read-pipeline-to-load.ts'
import { qualityGate } from './quality-gate.ts'
import {
  addKeyPositions,
  describeFile,
  type Hints,
  maxShownHints,
  describeChange,
  describeDryRun,
  describeSupersededRows,
} from './load-message-texts.ts'
import { RunHints } from './hints-for-user.ts'
import { presentRestore, restorePipeline } from './restore-pipeline.ts'
import { sourceIdleTimeout } from './source-idle-timeout.ts'
import {
  adoptStagedRun,
  type RunCounts,
  isRebuild,
  isRetryPossible,
  storeStagedRun,
  readLoadState,
  type StagedRun,
} from './staged-run-record.ts'
import { createLoadSuccess, hasWarning, isDatasetRun, listPublishedTables, type StoredCursor } from './load-result.ts'
import type { RunAttempt, RunSuccess, RunHandler, RunContext } from './run-handler.ts'

/**
 * Executes a load, a dry run or a restore. If an earlier attempt has already published the run, returns the result from
 * the ledger, a table in the warehouse with a row for each publication. Throws the errors of `loadRowStreams`.
 */
async function loadPipeline(context: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  try {
    return await loadActions[attempt.claim.action](context, attempt)
  } catch (error) {
    if (!(error instanceof VariableProblem)) throw error
    const pipeline = await readPipeline(context.db, attempt.claim.subject.id)
    if (!usesVariableAtForbiddenPlace(pipeline)) throw error
    // End the run with a warning instead of a failure, because an earlier version of Sluice accepted the pipeline.
    const message = `Nothing was loaded, and the old rows stay. ${error.message} Correct the variable in the pipeline, then run again.`
    const warehouse = await context.warehouses.open(attempt.claim.client)
    const tables = await listPublishedTables(warehouse, [], { ownTable: pipeline })
    return { state: 'WARNING', message, rowsWritten: 0, bytesWritten: 0, rowsRejected: 0, tables }
  }
}

/**
 * Returns whether a stored pipeline uses a variable where this version does not allow it. Such a pipeline was saved by
 * an earlier version.
 */
function usesVariableAtForbiddenPlace({ type, settings, sqlStatements, provider }: PipelineToLoad): boolean {
  try {
    assertSourceVariablePlaces(type, settings)
    for (const { statement } of sqlStatements) assertVariablePlaces(statement, getWarehouseLanguage(provider))
    return false
  } catch (error) {
    if (error instanceof VariableProblem) return true
    throw error
  }
}

/** Loads the rows of a run, or publishes the rows that an earlier attempt has staged. */
async function loadRun(context: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log } = attempt
  const [pipeline, warehouse] = await Promise.all([
    readPipeline(context.db, claim.subject.id),
    context.warehouses.open(claim.client),
  ])
  log.write(
    'INFO',
    'LOW',
    `Attempt ${claim.attempt} begins to load ${pipeline.schema}.${pipeline.table}${describeFile(claim)}.`,
  )

  // Adopting waits for an earlier attempt that is publishing, so the ledger is read afterwards. The first attempt reads
  // it too, because the service's database may have been restored from a backup.
  const stagedRun = claim.attempt > 1 ? await adoptStagedRun(context.db, attempt, pipeline, warehouse) : undefined
  const earlierPublication = await warehouse.loader.findPublication(claim.uid)
  if (earlierPublication) {
    log.write('INFO', 'LOW', 'An earlier attempt has already published the rows of this run.')
    return createLoadSuccess(warehouse, earlierPublication.tables, claim.rowsRejected, {
      mode: findUsedWriteMode(claim, pipeline, undefined),
      pipelineMode: pipeline.writeMode,
      isDataset: isDatasetRun(claim),
    })
  }
  const {
    tables,
    cursor,
    rejected: rejectedRows,
    fed: sourceRows,
    merged: isMerged,
    hints,
    whole: fullReadReason,
    nothingNew: nothingNewMessage,
  } = stagedRun
    ? await publishStaged(context, attempt, pipeline, warehouse, stagedRun)
    : await loadFromSource(context, attempt, pipeline, warehouse)
  await clearCursorReset(context.db, pipeline)
  for (const table of tables) logChanges(log, table)
  return createLoadSuccess(warehouse, tables, rejectedRows, {
    sourceRows,
    isMerged,
    mode: findUsedWriteMode(claim, pipeline, isMerged),
    pipelineMode: pipeline.writeMode,
    ownTable: pipeline,
    cursor,
    fullReadReason,
    nothingNewMessage,
    hints: new Map(hints),
    isDataset: isDatasetRun(claim),
  })
}

/**
 * Returns the mode in which a run wrote its rows. `isMerged` says whether it kept the existing rows, and is undefined
 * if that is unknown because an earlier attempt published the rows. The mode of an incremental load is then unknown.
 */
function findUsedWriteMode(
  { mode, input }: RunAttempt['claim'],
  pipeline: PipelineToLoad,
  isMerged: boolean | undefined,
): WriteMode | undefined {
  if (pipeline.writeMode !== 'REPLACE') {
    const replacedRows = isRebuild(input) || isMerged === false
    return replacedRows ? 'REPLACE' : pipeline.writeMode
  }
  // An incremental load merges its rows even if the pipeline replaces rows otherwise.
  if (isMerged === undefined) return mode === 'FULL' ? 'REPLACE' : undefined
  return isMerged ? 'MERGE' : 'REPLACE'
}

/** Reads the source, stages its rows and publishes them. First removes what earlier attempts have staged. */
async function loadFromSource(
  context: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): Promise<LoadResult> {
  const { claim } = attempt
  if (claim.attempt > 1) {
    await deleteStagedLoads(context.db, claim)
    await warehouse.upkeep.sweepStaging(() => listRunsWithStaging(context.db, attempt))
  }
  if (pipeline.hasPendingDrop) await dropLeftover(context.db, warehouse, { client: claim.client, ...pipeline })
  return stageAndPublish(context, attempt, pipeline, warehouse)
}

function logChanges(log: RunAttempt['log'], table: Pick<LoadedTable, 'schema' | 'table' | 'changes'>): void {
  for (const change of table.changes) {
    const isWarning = change.warning === true || ['COLUMN_EMPTIED', 'VIEWS_RECREATED'].includes(change.kind)
    log.write(isWarning ? 'WARN' : 'INFO', 'HIGH', describeChange(table, change))
  }
}

const loadActions = { RUN: loadRun, DRY_RUN: dryRun, RESTORE: restorePipeline }

/**
 * Executes all steps of a load except publishing. Stores the plan of the tables with the run, and returns a message
 * about it. Throws if the kind of warehouse does not support dry runs.
 */
async function dryRun(context: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log } = attempt
  const pipeline = await readPipeline(context.db, claim.subject.id)
  assertUndo(pipeline.provider as WarehouseKind)
  log.write(
    'INFO',
    'LOW',
    `Attempt ${claim.attempt} begins a dry run for ${pipeline.schema}.${pipeline.table}${describeFile(claim)}.`,
  )
  const warehouse = await context.warehouses.open(claim.client)
  if (claim.attempt > 1) await warehouse.upkeep.sweepStaging(() => listRunsWithStaging(context.db, attempt))
  if (pipeline.hasPendingDrop) await dropLeftover(context.db, warehouse, { client: claim.client, ...pipeline })
  let plannedTables: readonly PlannedTable[] = []
  const onPlan = async (tables: readonly PlannedTable[]) => {
    plannedTables = tables
    await storePlan(context.db, claim, tables)
  }
  const {
    rejected: rejectedRows,
    merged: isMerged,
    nothingNew: nothingNewMessage,
  } = await stageAndPublish(context, attempt, pipeline, warehouse, onPlan)
  for (const table of plannedTables) logChanges(log, table)
  const tablesAfterLoad = plannedTables.map((table) => ({ ...table, rows: table.rowsAfter }))
  const needsWarning = nothingNewMessage !== undefined || hasWarning(tablesAfterLoad, rejectedRows, isMerged)
  return {
    state: needsWarning ? 'WARNING' : 'OK',
    message: [describeDryRun(plannedTables, rejectedRows), nothingNewMessage].filter(Boolean).join(' '),
    rowsWritten: 0,
    bytesWritten: 0,
    rowsRejected: rejectedRows,
  }
}

/**
 * Clears the stored start position for incremental loads after it was used, unless a user set it again during the load.
 */
async function clearCursorReset(db: Kysely<DB>, { id, reset }: PipelineToLoad): Promise<void> {
  if (!reset) return
  await db
    .updateTable('data_pipelines')
    .set({ cursor_reset: null })
    .where('id', '=', id)
    .where(sql<boolean>`cursor_reset = ${JSON.stringify(reset)}::jsonb`)
    .execute()
}

interface LoadResult extends RunCounts {
  tables: LoadedTable[]
  /** Undefined if it must be read from the warehouse. */
  cursor?: StoredCursor
}

/** Publishes the rows that an earlier attempt has staged. */
async function publishStaged(
  context: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
  { load, counts }: StagedRun,
): Promise<LoadResult> {
  const publication = preparePublication(context, attempt, pipeline, warehouse)
  const mayPublishLater = (error: unknown) => isRetryPossible(context.db, attempt, error)
  const tables = await publishStagedLoad(load, { ...publication, mayPublishLater }).catch((error: unknown) => {
    throw addHints(error, new Map(counts.hints))
  })
  return { tables, ...counts }
}

/**
 * If a view would break because the type of a column changes, returns the error with the hints of the source, which
 * name the value that changed the type. Returns any other error unchanged.
 */
function addHints(error: unknown, hints: Hints): unknown {
  const wouldBreakView = error instanceof WarehouseProblem && error.code === 'VIEWS_DEPEND'
  if (!wouldBreakView || hints.size === 0) return error
  const { code, sentence, advice, retryable } = error
  const hintTexts = [...hints.keys()].slice(0, maxShownHints).join(' ')
  return new WarehouseProblem(code, `${sentence} ${hintTexts}`, { cause: error, retryable, ...(advice && { advice }) })
}

/** Returns what a publication needs besides the rows, such as the quality gate and the check of the lease. */
function preparePublication(
  context: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): PublicationJob {
  const { log, signal, sendHeartbeat, onBackgroundWork } = attempt
  const gate = qualityGate(context, attempt, pipeline, warehouse)
  return {
    warehouse,
    isCurrentAttempt: sendHeartbeat,
    signal,
    retain: pipeline.retainsStaging,
    ...(gate && { gate }),
    onBackgroundWork,
    onWait: (reason) => log.write('WARN', 'MEDIUM', reason),
  }
}

/**
 * Reads the source, stages its rows and publishes them. For a dry run, calls `onPlan` with the plan instead of
 * publishing it.
 */
async function stageAndPublish(
  context: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
  onPlan?: PlanOptions['onPlan'],
): Promise<LoadResult> {
  const { db, sources, sourceSilence } = context
  const { claim, log, signal: stopping, reportProgress } = attempt
  const { uid: run, input } = claim
  await using rejected = await openRejectedRows(db, claim)
  const meter = openMeter()
  reportProgress(meter)
  using _progressLog = logProgress(meter, log)
  const idle = new AbortController()
  const signal = AbortSignal.any([stopping, idle.signal])
  const idleTimeout = sourceIdleTimeout(sourceSilence, (reason) => idle.abort(reason))
  let firstRejected: string | undefined
  let fullReadReason: string | undefined
  let nothingNew: string | undefined
  const hints = new RunHints((sentence) => log.write('WARN', 'HIGH', sentence))
  const report: ReadReporter = {
    progress(counts) {
      idleTimeout.recordActivity()
      meter.progress(counts)
    },
    reject(row) {
      firstRejected ??= `line ${row.line}: ${row.reason}`
      rejected.add(row)
      meter.rejected(rejected.count)
    },
    rejectMore(rows) {
      rejected.addMore(rows)
      meter.rejected(rejected.count)
    },
    async startOver() {
      idleTimeout.recordActivity()
      meter.startOver()
      firstRejected = undefined
      hints.clear()
      await rejected.startOver()
    },
    log: (level, importance, message) => log.write(level, importance, message),
    readsEverything(reason) {
      fullReadReason = reason
      log.write('INFO', 'MEDIUM', reason)
    },
    hint: (sentence, advice) => hints.add(sentence, advice),
    nothingNew: (why) => void (nothingNew = why),
  }
  const target = { schema: pipeline.schema, table: pipeline.table }
  const { cursor, lastShape, digest } = await readLoadState(claim, pipeline, warehouse)
  // The schema of a table that was loaded before is complete.
  if (!lastShape && !onPlan) await warehouse.catalog.ensureSchema(pipeline.schema)
  const definition = sourceDefinitionDigest(pipeline)
  const previousShape = discardOutdatedShape(definition, lastShape)
  const source = await readSource(context, claim.client, pipeline)
  const transformation = await readTransformation(context, claim.client, pipeline)
  const writeMode = isRebuild(input) || pipeline.reset ? 'REPLACE' : pipeline.writeMode
  const reading = {
    ...source,
    input,
    writeMode,
    // The write mode may have changed since the run was requested.
    mode: keepsRows(writeMode) ? ('FULL' as const) : claim.mode,
    table: target.table,
    ...(cursor !== undefined && { cursor }),
    ...(pipeline.reset && { reset: pipeline.reset }),
    ...(previousShape && { previousShape }),
  }
  const mergeKey = (pipeline.writeMode === 'MERGE' && pipeline.mergeKey) || undefined
  let sourceRows = 0
  let merged = keepsRows(writeMode) || (claim.mode === 'INCREMENTAL' && (await sources.canReadIncrement(reading)))
  const rowStreams = sources.read(reading, report, signal)
  const counts = (): RunCounts => ({
    rejected: rejected.count,
    fed: sourceRows,
    merged,
    hints: [...hints.shown],
    ...(fullReadReason !== undefined && { whole: fullReadReason }),
    ...(nothingNew !== undefined && { nothingNew }),
  })
  const publication = preparePublication(context, attempt, pipeline, warehouse)
  let isKept = false
  let stagedCursors: StagedLoad['cursors'] = {}
  const loading = loadRowStreams({
    ...publication,
    rowStreams: assertTableOwnership(db, claim, pipeline, idleTimeout.watch(rowStreams)),
    target,
    run,
    attempt: claim.attempt,
    signal,
    rejected: () => ({ count: rejected.count, first: firstRejected }),
    transformation,
    ...(merged && { mode: keepsRows(writeMode) ? writeMode : ('MERGE' as const) }),
    ...(keepsRows(writeMode) && { keepsPrevious: true }),
    mergeKey,
    onSuperseded: (rows) => log.write('INFO', 'MEDIUM', describeSupersededRows(rows)),
    shape: {
      ...(keepsRows(writeMode) && { hasAllColumns: true }),
      schemaChanges: pipeline.schemaChanges,
      rebuild: isRebuild(input),
      definition,
    },
    onTable: { start: meter.startTable, finish: meter.finishTable },
    onReplace: () => void (merged = false),
    onRowsStaged: (rows) => void (sourceRows = rows),
    ...(onPlan && { onPlan, retain: false }),
    ...(pipeline.profileTables && {
      storeProfile: (table, profile) => storeProfile(db, claim, { schema: target.schema, table }, profile),
    }),
    async onStaged(load) {
      stagedCursors = load.cursors
      await rejected.flush()
      isKept = await storeStagedRun(db, attempt, warehouse, digest, { load, counts: counts() })
    },
    mayPublishLater: async (error) => isKept && (await isRetryPossible(db, attempt, error)),
  })
  const tables = await loading.catch(async (error: unknown) => {
    throw await addKeyPositions(addHints(error, hints.shown), {
      target,
      keys: transformation.length === 0 ? mergeKey : undefined,
      describeRows: (rows) => sources.describeKeyRows(reading, rows, stopping),
    })
  })
  hints.logOmitted()
  const isOwnTableLoaded = tables.some(({ table }) => table === target.table)
  return { tables, cursor: { value: isOwnTableLoaded ? stagedCursors[target.table] : cursor }, ...counts() }
}

/** Returns the transformation's statements with variables replaced by their values. Throws `VariableProblem`. */
async function readTransformation(
  { db, keyRing, redaction }: Pick<RunContext, 'db' | 'keyRing' | 'redaction'>,
  client: string,
  { sqlStatements, provider }: PipelineToLoad,
): Promise<PipelineToLoad['sqlStatements']> {
  if (!namesVariables(sqlStatements)) return sqlStatements
  const language = getWarehouseLanguage(provider)
  const variables = await readVariables(db, client, keyRing)
  redaction.add(...variables.textsToRedact)
  return sqlStatements.map((sqlStatement) => ({
    ...sqlStatement,
    statement: insertVariablesIntoSql(sqlStatement.statement, variables, language),
  }))
}

/**
 * Returns the runs that still need their staging tables. This run is not among them if its attempt is current,
 * because the staging tables of its earlier attempts are dropped before it loads again.
 */
async function listRunsWithStaging(
  db: Kysely<DB>,
  { claim, sendHeartbeat }: Pick<RunAttempt, 'claim' | 'sendHeartbeat'>,
): Promise<ReadonlySet<string>> {
  const runs = await listRunsToKeep(db, claim.client)
  // A later attempt may have taken over these staging tables since they were listed, so only the current attempt may
  // drop them.
  if (await sendHeartbeat()) runs.delete(claim.uid)
  return runs
}

/**
 * Returns the result of a published run from the ledger in the warehouse. If the run was not published, returns
 * undefined, and neither this attempt nor an earlier one can publish it from now on. Throws `WarehouseProblem` if the
 * warehouse is unavailable.
 */
async function recoverFromLedger(
  { warehouses }: Pick<RunContext, 'warehouses'>,
  { client, uid, attempt, action, rowsRejected }: Pick<Claim, 'client' | 'uid' | 'attempt' | 'action' | 'rowsRejected'>,
): Promise<RunSuccess | undefined> {
  const warehouse = await warehouses.find(client)
  // `fenceRun` also ends the ability of these attempts to publish.
  const publication = await warehouse?.loader.fenceRun(uid, attempt).catch((error: unknown) => {
    if (isWarehouseGone(error)) return undefined
    throw error
  })
  if (!publication) return undefined
  return action === 'RESTORE'
    ? presentRestore(warehouse!, publication)
    : createLoadSuccess(warehouse!, publication.tables, rowsRejected, { isDataset: isDatasetRun({ client }) })
}

export const pipelineHandler: RunHandler = { run: loadPipeline, recover: recoverFromLedger }
