import { type Kysely, sql } from 'kysely'
import { catalogueClient } from '../../catalogue-client.ts'
import type { DB } from '../../database.ts'
import { settingOf } from '../../settings.ts'
import { definitionOf, memoryFor } from '../../source-definition.ts'
import { clearTheWay } from '../drops/drops.ts'
import { type LoadedTable, loadFeeds, type PublicationOfFeeds, publishFeeds } from '../loads/load-feeds.ts'
import type { Claim } from '../runs/claim.ts'
import { openMeter } from '../runs/progress-meter.ts'
import { logProgress } from '../runs/progress-meter.ts'
import { openRejectedRows } from '../runs/rejected-rows.ts'
import { keepPlan } from '../run-lifecycle/finish-run.ts'
import { runsToKeep } from '../runs/runs-to-keep.ts'
import { forgetStagedLoads } from '../runs/staged-loads.ts'
import type { Report } from '../sources/source.ts'
import { holdsNothing } from '../warehouses/holds-nothing.ts'
import { assertUndo, type Kind } from '../warehouses/kinds.ts'
import { type PlannedTable, type PlanOptions, type Warehouse, WarehouseProblem } from '../warehouses/warehouse.ts'
import { namesVariables } from '../variables/replace.ts'
import { assertVariablesPlaced, placeVariables } from '../variables/place-variables.ts'
import { assertSourceVariablesPlaced } from '../variables/source-values.ts'
import { variablesOf } from '../variables/variables.ts'
import { VariableProblem } from '../variables/variable-problem.ts'
import { warehouseLanguage } from '../variables/sql-language.ts'
import { ownTables } from './pipeline-to-load.ts'
import { qualityGate } from './quality-gate.ts'
import { type PipelineToLoad, readPipeline } from './pipeline-to-load.ts'
import {
  describeFile,
  type Hints,
  whatChanged,
  describeHints,
  whatWasLoaded,
  whatWouldChange,
} from './load-messages.ts'
import { RunHints } from './run-hints.ts'
import { restored, restorePipeline } from './restore-pipeline.ts'
import { patience } from './source-idle-timeout.ts'
import { sourceToRead } from './pipeline-to-load.ts'
import {
  adoptStagedRun,
  type Counts,
  isRebuild,
  isRetryPossible,
  keepStagedRun,
  readReadingState,
  type StagedRun,
} from './staged-run.ts'
import { tablesThere } from './published-tables.ts'
import type { RunAttempt, RunSuccess, RunHandler, RunContext } from './run-handler.ts'

/**
 * From the source into the client's warehouse, as far as a dry run goes, or back to what was there before. A run that an earlier attempt has published is answered
 * from the ledger. Throws what `loadFeeds` throws.
 */
async function loadPipeline(parts: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  try {
    return await actions[attempt.claim.action](parts, attempt)
  } catch (error) {
    if (!(error instanceof VariableProblem)) throw error
    const pipeline = await readPipeline(parts.db, attempt.claim.subject.id)
    if (!isRefusedNow(pipeline)) throw error
    // Earlier versions took such a text. It is refused when the pipeline is saved, so it is not a failure of this night.
    const message = `Nothing was loaded, and the old rows stay. ${error.message} Change the text of the pipeline and run it again.`
    const tables = await tablesThere(await parts.warehouses.open(attempt.claim.client), [], pipeline)
    return { state: 'WARNING', message, rowsWritten: 0, bytesWritten: 0, rowsRejected: 0, tables }
  }
}

/** Whether a text of a stored pipeline uses a variable in a place where none may be. */
function isRefusedNow({ type, settings, sqlStatements, provider }: PipelineToLoad): boolean {
  try {
    assertSourceVariablesPlaced(type, settings)
    for (const { statement } of sqlStatements) assertVariablesPlaced(statement, warehouseLanguage(provider))
    return false
  } catch (error) {
    if (error instanceof VariableProblem) return true
    throw error
  }
}

async function loadOnce(parts: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log } = attempt
  const pipeline = await readPipeline(parts.db, claim.subject.id)
  log.write(
    'INFO',
    'LOW',
    `Attempt ${claim.attempt} begins to load ${pipeline.schema}.${pipeline.table}${describeFile(claim)}.`,
  )
  const warehouse = await parts.warehouses.open(claim.client)

  // Adopting waits for an earlier attempt that is publishing just now, so the ledger is read afterwards.
  const staged = claim.attempt > 1 ? await adoptStagedRun(parts.db, attempt, pipeline, warehouse) : undefined
  const earlier = await warehouse.findPublication(claim.uid)
  if (earlier) {
    log.write('INFO', 'LOW', 'An earlier attempt has published this run already.')
    return successOf(warehouse, earlier.tables, claim.rowsRejected, audienceOf(claim))
  }
  const { tables, ...outcome } = staged
    ? await publishStaged(parts, attempt, pipeline, warehouse, staged)
    : await loadAnew(parts, attempt, pipeline, warehouse)
  await forgetReset(parts.db, pipeline)
  for (const table of tables) logChanges(log, table)
  const hints = new Map(outcome.hints)
  return successOf(warehouse, tables, outcome.rejected, { ...outcome, hints, own: pipeline, ...audienceOf(claim) })
}

async function loadAnew(
  parts: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): Promise<Loaded> {
  const { claim } = attempt
  if (claim.attempt > 1) {
    await forgetStagedLoads(parts.db, claim)
    await warehouse.sweepStaging(() => othersUnderWay(parts.db, attempt))
  }
  await clearTheWay(parts.db, warehouse, { client: claim.client, ...pipeline })
  await warehouse.ensureSchema(pipeline.schema)
  return load(parts, attempt, pipeline, warehouse)
}

function logChanges(log: RunAttempt['log'], table: Pick<LoadedTable, 'schema' | 'table' | 'changes'>): void {
  for (const change of table.changes) {
    const isWarning = change.warning === true || ['COLUMN_EMPTIED', 'VIEWS_RECREATED'].includes(change.kind)
    log.write(isWarning ? 'WARN' : 'INFO', 'HIGH', whatChanged(table, change))
  }
}

const actions = { RUN: loadOnce, DRY_RUN: dryRun, RESTORE: restorePipeline }

/** Everything that a run does before it publishes. */
async function dryRun(parts: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log } = attempt
  const pipeline = await readPipeline(parts.db, claim.subject.id)
  assertUndo(pipeline.provider as Kind)
  log.write(
    'INFO',
    'LOW',
    `Attempt ${claim.attempt} begins a dry run for ${pipeline.schema}.${pipeline.table}${describeFile(claim)}.`,
  )
  const warehouse = await parts.warehouses.open(claim.client)
  if (claim.attempt > 1) await warehouse.sweepStaging(() => othersUnderWay(parts.db, attempt))
  await clearTheWay(parts.db, warehouse, { client: claim.client, ...pipeline })
  let tables: readonly PlannedTable[] = []
  const planned = async (plan: readonly PlannedTable[]) => {
    tables = plan
    await keepPlan(parts.db, claim, plan)
  }
  const { rejected, merged } = await load(parts, attempt, pipeline, warehouse, planned)
  for (const table of tables) logChanges(log, table)
  return {
    state: isWarning(
      tables.map(({ rowsAfter, changes }) => ({ rows: rowsAfter, changes })),
      rejected,
      merged,
    )
      ? 'WARNING'
      : 'OK',
    message: whatWouldChange(tables, rejected),
    rowsWritten: 0,
    bytesWritten: 0,
    rowsRejected: rejected,
  }
}

/** What was asked for is done, unless it was asked for anew meanwhile. */
async function forgetReset(db: Kysely<DB>, { id, reset }: PipelineToLoad): Promise<void> {
  if (!reset) return
  await db
    .updateTable('data_pipelines')
    .set({ cursor_reset: null })
    .where('id', '=', id)
    .where(sql<boolean>`cursor_reset = ${JSON.stringify(reset)}::jsonb`)
    .execute()
}

/** What a run did to its tables. */
interface Loaded extends Counts {
  tables: LoadedTable[]
}

async function publishStaged(
  parts: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
  { feeds, counts }: StagedRun,
): Promise<Loaded> {
  const publication = await publicationOf(parts, attempt, pipeline, warehouse)
  const mayPublishLater = (error: unknown) => isRetryPossible(parts.db, attempt, error)
  const tables = await publishFeeds(feeds, { ...publication, mayPublishLater }).catch((error: unknown) => {
    throw withHints(error, new Map(counts.hints))
  })
  return { tables, ...counts }
}

/** Adds the hints of the source to a view that fails at the new type of a column: they name the value that changed the type. */
function withHints(error: unknown, hints: Hints): unknown {
  if (!(error instanceof WarehouseProblem) || error.code !== 'VIEWS_DEPEND' || hints.size === 0) return error
  const { code, sentence, advice, retryable } = error
  const shown = [...hints.keys()].slice(0, 3).join(' ')
  return new WarehouseProblem(code, `${sentence} ${shown}`, { cause: error, retryable, ...(advice && { advice }) })
}

async function publicationOf(
  parts: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): Promise<PublicationOfFeeds> {
  const { claim, log, signal, isCurrentAttempt, onBackgroundWork } = attempt
  const gate = qualityGate(parts, attempt, pipeline, warehouse)
  const atFailure = await settingOf(parts.db, claim.client, 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES')
  return {
    warehouse,
    stillOurs: isCurrentAttempt,
    signal,
    retain: atFailure === 'RETAIN',
    ...(gate && { gate }),
    behind: onBackgroundWork,
    waiting: (why) => log.write('WARN', 'MEDIUM', why),
  }
}

async function load(
  parts: RunContext,
  attempt: RunAttempt,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
  planned?: PlanOptions['planned'],
): Promise<Loaded> {
  const { db, sources, sourceSilence } = parts
  const { claim, log, signal: stopping, reportProgress } = attempt
  const { uid: run, input } = claim
  await using rejected = await openRejectedRows(db, claim)
  const meter = openMeter()
  reportProgress(meter)
  using _telling = logProgress(meter, log)
  const silent = new AbortController()
  const signal = AbortSignal.any([stopping, silent.signal])
  const silence = patience(sourceSilence, (reason) => silent.abort(reason))
  let firstRejected: string | undefined
  let whole: string | undefined
  const hints = new RunHints((sentence) => log.write('WARN', 'HIGH', sentence))
  const report: Report = {
    progress(counts) {
      silence.sign()
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
      silence.sign()
      meter.startOver()
      firstRejected = undefined
      hints.clear()
      await rejected.startOver()
    },
    log: (level, importance, message) => log.write(level, importance, message),
    readsEverything: (why) => void (whole = why),
    hint: (sentence, advice) => hints.add(sentence, advice),
  }
  const target = { schema: pipeline.schema, table: pipeline.table }
  const { cursor, last, digest } = await readReadingState(db, claim, pipeline, warehouse)
  const definition = definitionOf(pipeline)
  const remembered = memoryFor(definition, last)
  const source = await sourceToRead(parts, claim.client, pipeline)
  const transformation = await transformationOf(parts, claim.client, pipeline)
  const reading = {
    ...source,
    input,
    mode: claim.mode,
    table: target.table,
    ...(cursor !== undefined && { cursor }),
    ...(pipeline.reset && { reset: pipeline.reset }),
    ...(remembered && { remembered }),
  }
  let fed = 0
  let merged = claim.mode === 'INCREMENTAL' && (await sources.increments(reading))
  const feeds = sources.read(reading, report, signal)
  const counts = (): Counts => ({
    rejected: rejected.count,
    fed,
    merged,
    hints: [...hints.kept],
    ...(whole !== undefined && { whole }),
  })
  const publication = await publicationOf(parts, attempt, pipeline, warehouse)
  let isKept = false
  const loading = loadFeeds({
    ...publication,
    feeds: ownTables(db, claim, pipeline, silence.watch(feeds)),
    target,
    run,
    attempt: claim.attempt,
    signal,
    rejected: () => ({ count: rejected.count, first: firstRejected }),
    transformation,
    ...(merged && { mode: 'MERGE' as const }),
    shape: {
      schemaChanges: pipeline.schemaChanges,
      rebuild: isRebuild(input),
      definition,
    },
    replacing: () => void (merged = false),
    fed: (rows) => void (fed = rows),
    ...(planned && { planned, retain: false }),
    async staged(feeds) {
      await rejected.flush()
      isKept = await keepStagedRun(db, attempt, warehouse, digest, { feeds, counts: counts() })
    },
    mayPublishLater: async (error) => isKept && (await isRetryPossible(db, attempt, error)),
  })
  const tables = await loading.catch((error: unknown) => {
    throw withHints(error, hints.kept)
  })
  hints.logOmitted()
  return { tables, ...counts() }
}

/** The statements with the values of variables. Throws `VariableProblem`. */
async function transformationOf(
  { db, keyRing, redaction }: Pick<RunContext, 'db' | 'keyRing' | 'redaction'>,
  client: string,
  { sqlStatements, provider }: PipelineToLoad,
): Promise<PipelineToLoad['sqlStatements']> {
  if (!namesVariables(sqlStatements)) return sqlStatements
  const language = warehouseLanguage(provider)
  const variables = await variablesOf(db, client, keyRing)
  redaction.add(...variables.spellings)
  return sqlStatements.map((one) => ({ ...one, statement: placeVariables(one.statement, variables, language) }))
}

/** What earlier attempts at this run left in the way is dropped before it is loaded anew. */
async function othersUnderWay(
  db: Kysely<DB>,
  { claim, isCurrentAttempt }: Pick<RunAttempt, 'claim' | 'isCurrentAttempt'>,
): Promise<ReadonlySet<string>> {
  const runs = await runsToKeep(db, claim.client)
  // The tables were listed before. A later attempt may have adopted them since, unless this one still has the run.
  if (await isCurrentAttempt()) runs.delete(claim.uid)
  return runs
}

/** Returns who reads the messages of a run. All public datasets are pipelines of one client, the catalogue. */
const audienceOf = ({ client }: Pick<Claim, 'client'>) => ({ isDataset: client === catalogueClient })

/** Empty is what the source said, so it is loaded, but hardly what anybody meant, unless it was asked for what is new. */
async function successOf(
  warehouse: Warehouse,
  tables: readonly LoadedTable[],
  rejected: number,
  {
    fed,
    merged,
    own,
    whole,
    hints = new Map(),
    isDataset = false,
  }: {
    fed?: number
    merged?: boolean
    own?: Pick<PipelineToLoad, 'schema' | 'table'>
    whole?: string | undefined
    hints?: Hints
    isDataset?: boolean
  } = {},
): Promise<RunSuccess> {
  const rowsWritten = tables.reduce((sum, { rows }) => sum + rows, 0)
  return {
    state: isWarning(tables, rejected, merged) ? 'WARNING' : 'OK',
    message: [whatWasLoaded(tables, { rejected, fed, merged, isDataset }), describeHints(hints, { isDataset }), whole]
      .filter(Boolean)
      .join(' '),
    rowsWritten,
    bytesWritten: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    rowsRejected: rejected,
    tables: await tablesThere(warehouse, tables, own),
  }
}

const isWarning = (
  tables: readonly Pick<LoadedTable, 'rows' | 'changes'>[],
  rejected: number,
  merged: boolean | undefined,
): boolean =>
  rejected > 0 ||
  (!merged && tables.every(({ rows }) => rows === 0)) ||
  tables.some(({ changes }) => changes.some(({ warning }) => warning))

/**
 * The ledger's answer: what the table holds is the truth. Throws `WarehouseProblem` when the warehouse cannot tell just now.
 */
async function recover(
  { warehouses }: Pick<RunContext, 'warehouses'>,
  { client, uid, attempt, action, rowsRejected }: Pick<Claim, 'client' | 'uid' | 'attempt' | 'action' | 'rowsRejected'>,
): Promise<RunSuccess | undefined> {
  const warehouse = await warehouses.find(client)
  const publication = await warehouse?.closeRun(uid, attempt).catch((error: unknown) => {
    if (holdsNothing(error)) return undefined
    throw error
  })
  if (!publication) return undefined
  return action === 'RESTORE'
    ? restored(warehouse!, publication)
    : successOf(warehouse!, publication.tables, rowsRejected, audienceOf({ client }))
}

export const pipelineHandler: RunHandler = { run: loadPipeline, recover }
