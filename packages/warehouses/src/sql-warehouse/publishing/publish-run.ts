import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '@sluice/process'
import { assertReadyToPublish, findParentLoad } from '../../staged-load-checks.ts'
import type { TablePlace } from '../../catalog.ts'
import {
  isBusy,
  assertCurrentAttempt,
  type Publication,
  type PublishedTable,
  keepsRows,
  type PublishOptions,
} from '../../warehouse.ts'
import {
  type ManagedView,
  dropViews,
  listManagedViews,
  recreateViews,
  findDependentViews,
  assertViewsCompile,
  hasUncheckedViews,
  recreateMark,
  recreateStep,
} from '../views/dependent-views.ts'
import { findDuplicates } from './merge-increments.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import { deleteMetadata, recordPublication, lockLedger, findPublication, setMetadata } from '../publication-ledger.ts'
import type { SqlStagedTable } from '../staging/staged-table.ts'
import {
  type PlannedPublication,
  planPublishedState,
  planPublication,
  planCurrentTable,
  viewRebuildProblem,
  affectsViews,
  tableToPublish,
} from './plan-publishing.ts'
import { concurrentlyChanged, tableInUse, toWarehouseProblem } from '../map-server-errors.ts'
import {
  afterPendingPublications,
  recordDecision,
  dropRetiredTables,
  withPublishLock,
  lockAndApplyDecisions,
  recoverPending,
  type DecisionStep,
  type PublicationDecision,
  type PublishSessions,
} from '../publication-recovery.ts'
import { retiredTableName, withSession, hiddenName, placeKey } from '../table-shape.ts'

/** Milliseconds before each retry while readers use the table or another run publishes. */
const retryDelaysMs = [100, 250, 500, 1_000, 2_000]

/**
 * Publishes a run, that is, swaps its loaded tables in; see `Loader.publish`. Slow steps run before the publish lock is
 * taken. The fence check (whether the attempt still owns the run) and the renames run under the lock.
 */
export async function publishRun(
  dialect: SqlDialect,
  stagedTables: readonly SqlStagedTable[],
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const loads = stagedTables.toSorted((one, other) => (one.qualifiedName < other.qualifiedName ? -1 : 1))
  const [firstLoad] = loads
  if (!firstLoad) throw new Error('Nothing to publish.')
  const { mode, gate } = options
  try {
    const earlierPublication = await findEarlierPublication(dialect, firstLoad.target.run, signal)
    if (earlierPublication) return earlierPublication
    await assertReadyToPublish(
      loads,
      {
        mode,
        gate,
        findDuplicates: (load, columns) => findDuplicates(dialect, columns, load.stagingTable, signal),
      },
      signal,
    )
    await failpoint('before-swap')
    return await publishWithRetries(dialect, loads, isCurrentAttempt, signal, options)
  } catch (error) {
    signal.throwIfAborted()
    throw toWarehouseProblem(dialect, error, firstLoad.qualifiedName)
  }
}

/** Completes pending publications, then returns the publication of the run if it has already been published. */
const findEarlierPublication = (
  dialect: SqlDialect,
  run: string,
  signal: AbortSignal,
): Promise<Publication | undefined> =>
  withSession(dialect, { role: 'service', signal }, async (session) => {
    await recoverPending(dialect, session)
    return findPublication(dialect, session, run)
  })

/**
 * Plans and publishes the loads. Tries again while readers use the tables or another run publishes. A retry reuses the
 * plan of each table that has not been replaced since the previous try.
 */
async function publishWithRetries(
  dialect: SqlDialect,
  loads: readonly SqlStagedTable[],
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const firstLoad = loads[0]!
  const { target, qualifiedName } = firstLoad
  // The plan of each load. A failed try leaves its plans here for the next one.
  const plannedPublications: PlannedPublication[] = []
  for (let failedTries = 0; ; failedTries += 1) {
    signal.throwIfAborted()
    try {
      // The previous try may have published the run although it ended with an error.
      const lastTryPublication = failedTries > 0 ? await findEarlierPublication(dialect, target.run, signal) : undefined
      if (lastTryPublication) return lastTryPublication
      // A second decision would publish the run twice, so this waits for the pending one.
      const hasPendingDecision = firstLoad.decided
      if (hasPendingDecision) throw tableInUse(qualifiedName)
      for (const [index, load] of loads.entries())
        plannedPublications[index] = await planPublication(
          dialect,
          load,
          { merging: keepsRows(options.mode), parentLoad: findParentLoad(loads, load.target) },
          signal,
          plannedPublications[index],
        )
      const publishPlanned = dialect.publication === 'NON_TRANSACTIONAL' ? publishByDecision : publishInTransaction
      return await publishPlanned(dialect, plannedPublications, isCurrentAttempt, signal, options)
    } catch (error) {
      const problem = toWarehouseProblem(dialect, error, qualifiedName)
      const retryDelayMs = retryDelaysMs[failedTries]
      if (!isBusy(problem) || retryDelayMs === undefined) throw problem
      // The random factor keeps runs that block each other from retrying at the same moments.
      await sleep(retryDelayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
    }
  }
}

/**
 * See `Loader.fenceRun`. An attempt holds the publish lock from its fence check to its commit, so taking this lock
 * waits for the attempt.
 */
export function fenceRun(dialect: SqlDialect, run: string): Promise<Publication | undefined> {
  return afterPendingPublications(dialect, ({ ledger }) => findPublication(dialect, ledger, run))
}

/**
 * Publishes in one transaction, on servers with transactional DDL. Returns the earlier publication if the run has
 * already been published.
 */
async function publishInTransaction(
  dialect: SqlDialect,
  plannedPublications: readonly PlannedPublication[],
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const { run, attempt } = plannedPublications[0]!.load.target
  const session = await dialect.open({ role: 'service' })
  let replacedTables: TablePlace[] = []
  let isPublished = false
  try {
    const publication = await session.transaction(async () => {
      replacedTables = []
      await lockLedger(dialect, session)
      const earlierPublication = await findPublication(dialect, session, run)
      if (earlierPublication) return earlierPublication
      await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
      const places = plannedPublications.map(({ load: { target } }) => ({ schema: target.schema, name: target.table }))
      // Drops the views of all tables at once, because a view of several tables may be invalid while only some of them
      // are replaced.
      const dependentViews = findDependentViews(await listManagedViews(dialect, session), places)
      await dropViews(dialect, session, dependentViews)
      const tables: PublishedTable[] = []
      for (const publication of plannedPublications) {
        const { published, retiredTable } = await swapTable(dialect, session, publication, options)
        tables.push(published)
        if (retiredTable) replacedTables.push(retiredTable)
      }
      await recreateViews(dialect, session, dependentViews).catch((error: unknown) => {
        throw viewRebuildProblem(
          dialect,
          error,
          dependentViews,
          plannedPublications.map(({ load }) => load.qualifiedName).join(', '),
        )
      })
      await recordPublication(dialect, session, run, { attempt, tables })
      isPublished = true
      return (await findPublication(dialect, session, run))!
    })
    // A merge publishes the merged table, so its staging table is dropped.
    for (const { load, merged } of plannedPublications) load.published = isPublished && merged === undefined
    await runCleanup(() => dropReplacedTables(dialect, session, replacedTables), options)
    return publication
  } catch (error) {
    await session[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Replaces one table by its staging table. Returns the replaced table under its hidden name, if there was one. Throws
 * WAREHOUSE_BUSY if another run changed the table since `planPublication`.
 */
async function swapTable(
  dialect: SqlDialect,
  session: SqlSession,
  plannedPublication: PlannedPublication,
  options: PublishOptions,
): Promise<{ published: PublishedTable; retiredTable: TablePlace | undefined }> {
  const { load } = plannedPublication
  const { schema, table, run } = load.target
  const place = { schema, name: table }
  const { currentShape, metadata, published } = await planPublishedState(
    dialect,
    { ledger: session, tables: session },
    plannedPublication,
    options,
  )
  const retiredTable = currentShape && { schema, name: retiredTableName(currentShape.id, run) }
  if (retiredTable) {
    await session.execute(dialect.changes.rename(place, retiredTable.name))
    await deleteMetadata(dialect, session, currentShape.id)
  }
  const newTable = tableToPublish(plannedPublication)
  await session.execute(dialect.changes.rename(newTable, table))
  for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
  await setMetadata(dialect, session, newTable.id, metadata)
  return { published, retiredTable }
}

/** Drops the replaced tables and closes the session. Never throws. */
async function dropReplacedTables(
  dialect: SqlDialect,
  session: SqlSession,
  replacedTables: readonly TablePlace[],
): Promise<void> {
  try {
    for (const place of replacedTables) await session.execute(dialect.changes.dropTable(place))
  } catch {
    // Maintenance drops the remaining tables.
  } finally {
    await session[Symbol.asyncDispose]()
  }
}

/** Runs the cleanup after a publication. It runs in the background if the caller passed `onBackgroundWork`. */
export async function runCleanup(cleanUp: () => Promise<void>, { onBackgroundWork }: PublishOptions): Promise<void> {
  await failpoint('published')
  const cleanupWork = cleanUp()
  if (onBackgroundWork) onBackgroundWork(cleanupWork)
  else await cleanupWork
}

/**
 * Publishes on servers without transactional DDL. Takes the publish lock, checks that this attempt still owns the run,
 * and records one decision with the changes of all tables. Committing the decision publishes the run. Then this process
 * applies the decision, or another process if this one dies. A reader sees the old table or the new one; for a moment,
 * neither exists.
 */
async function publishByDecision(
  dialect: SqlDialect,
  plannedPublications: readonly PlannedPublication[],
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const { run, attempt } = plannedPublications[0]!.load.target
  const checkedViews = await assertDependentViewsCompile(dialect, plannedPublications)
  const earlierPublication = await withPublishLock(dialect, async (sessions) => {
    const publication = await findPublication(dialect, sessions.ledger, run)
    if (publication) return publication
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    const decision = await makeDecision(dialect, sessions, plannedPublications, checkedViews, options)
    // Marked before the commit, because the commit may succeed although its response is lost.
    for (const plannedPublication of plannedPublications) markDecided(plannedPublication)
    await recordDecision(dialect, sessions, decision)
    return undefined
  })
  if (earlierPublication) return earlierPublication
  const replacedTables = await lockAndApplyDecisions(dialect)
  await runCleanup(() => dropRetiredTables(dialect, replacedTables), options)
  const publication = await withSession(dialect, { role: 'service' }, (session) =>
    findPublication(dialect, session, run),
  )
  if (!publication) throw concurrentlyChanged(plannedPublications[0]!.load.qualifiedName)
  return publication
}

/**
 * Returns the loads with column changes that require recreating views, and the views that read their tables, directly or
 * through other views.
 */
function findAffectedViews(dialect: SqlDialect, planned: readonly PlannedPublication[], views: readonly ManagedView[]) {
  const changedLoads = planned.filter(
    ({ currentShape, load }) =>
      currentShape && planCurrentTable(dialect, currentShape, load).changes.some(affectsViews),
  )
  const places = changedLoads.map(({ load: { target } }) => ({ schema: target.schema, name: target.table }))
  return { changedLoads, dependentViews: findDependentViews(views, places) }
}

/** Marks the load as decided, and its staging table as published, so that the table is not dropped. */
function markDecided({ load, merged }: PlannedPublication): void {
  load.decided = true
  // A merge publishes the merged table instead of the staging table.
  load.published = merged === undefined
}

/**
 * Throws VIEWS_DEPEND, before the decision, if a view of the tables does not compile with the new columns. Returns the
 * ids of the checked views.
 */
async function assertDependentViewsCompile(
  dialect: SqlDialect,
  planned: readonly PlannedPublication[],
): Promise<ReadonlySet<string>> {
  const views = await withSession(dialect, { role: 'service' }, (session) => listManagedViews(dialect, session))
  const { changedLoads, dependentViews } = findAffectedViews(dialect, planned, views)
  const substitutes = changedLoads.map((publication) => {
    const { schema, table } = publication.load.target
    return [placeKey({ schema, name: table }), tableToPublish(publication)] as const
  })
  return assertViewsCompile(dialect, dependentViews, new Map(substitutes)).catch((error: unknown) => {
    const tableNames = changedLoads.map(({ load }) => load.qualifiedName).join(', ')
    throw viewRebuildProblem(dialect, error, dependentViews, tableNames)
  })
}

/**
 * Builds the decision to publish: the renames of all tables, the changed metadata, and the views to recreate. Also
 * stores the metadata of the new tables. Throws WAREHOUSE_BUSY if views were added or changed since they were checked.
 */
async function makeDecision(
  dialect: SqlDialect,
  sessions: PublishSessions,
  plannedPublications: readonly PlannedPublication[],
  checkedViews: ReadonlySet<string>,
  options: PublishOptions,
): Promise<PublicationDecision> {
  const { run, attempt } = plannedPublications[0]!.load.target
  const swaps = []
  for (const publication of plannedPublications) swaps.push(await planSwap(dialect, sessions, publication, options))
  const views = await listManagedViews(dialect, sessions.tables)
  const { dependentViews } = findAffectedViews(dialect, plannedPublications, views)
  if (hasUncheckedViews(dependentViews, checkedViews))
    throw concurrentlyChanged(plannedPublications[0]!.load.qualifiedName)
  return {
    steps: [...swaps.map(({ step }) => step), ...dependentViews.map(recreateStep)],
    marks: [...swaps.map(({ mark }) => mark), ...dependentViews.map(recreateMark)],
    forgotten: swaps.flatMap(({ replacedId }) => replacedId ?? []),
    run: { run, attempt, tables: swaps.map(({ published }) => published) },
  }
}

/** Returns one table's part of a decision. Stores the metadata of the new table. */
async function planSwap(
  dialect: SqlDialect,
  sessions: PublishSessions,
  plannedPublication: PlannedPublication,
  options: PublishOptions,
) {
  const { schema, table, run } = plannedPublication.load.target
  const { currentShape, metadata, published } = await planPublishedState(dialect, sessions, plannedPublication, options)
  const { name, id } = tableToPublish(plannedPublication)
  const asideName = currentShape && { aside: hiddenName('aside', currentShape.id, run) }
  const step: DecisionStep = { kind: 'SWAP', schema, from: name, to: table, ...asideName }
  await setMetadata(dialect, sessions.ledger, id, metadata)
  return { step, mark: { place: { schema, name: table }, id, mark: metadata }, replacedId: currentShape?.id, published }
}
