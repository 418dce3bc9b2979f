import { randomUUID } from 'node:crypto'
import type { TablePlace } from '../catalog.ts'
import type { SqlDialect, SqlSession } from './sql-dialect.ts'
import {
  type RelationMetadata,
  countEntries,
  deleteMetadata,
  writeEntry,
  recordPublication,
  readEntries,
  deleteEntry,
  lockLedger,
  findPublication,
  setMetadata,
} from './publication-ledger.ts'
import { tableInUse, toWarehouseProblem } from './map-server-errors.ts'
import { withSession, findRelation, quotePlace } from './table-shape.ts'
import { isBusy, type PublishedTable, WarehouseProblem } from '../warehouse.ts'
import { type SqlStatement, plainSql } from './sql-statement.ts'

/** Seconds to wait for the publish lock, and for readers of a table. */
const lockWaitSeconds = 30
const readerWaitSeconds = 5

/**
 * Runs `callback` with sessions for a publication. With `NON_TRANSACTIONAL` publication, first completes the pending
 * decisions of other processes and holds the publish lock, so that no other process can decide a publication meanwhile.
 * In `TRANSACTION` publication, takes no lock, because the transaction of `callback` takes it by `lockLedger`.
 */
export async function withPublishLock<Result>(
  dialect: SqlDialect,
  callback: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> {
  if (dialect.publication === 'TRANSACTION')
    return withSession(dialect, { role: 'service' }, (session) => callback({ ledger: session, tables: session }))
  return withPublishSessions(dialect, lockWaitSeconds, async (sessions) => {
    for (;;) {
      const outcome = await inLockedTransaction(dialect, sessions, async () => {
        const { decisionCount } = await applyDecisions(dialect, sessions)
        // Applied decisions must be committed first, so `callback` runs in the transaction of the next iteration.
        if (decisionCount > 0) return { hasRun: false } as const
        return { hasRun: true, result: await callback(sessions) } as const
      })
      if (outcome.hasRun) return outcome.result
    }
  })
}

/** Runs `callback` under the publish lock once no publication is pending. Works with both kinds of publication. */
export function afterPendingPublications<Result>(
  dialect: SqlDialect,
  callback: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> {
  if (dialect.publication === 'NON_TRANSACTIONAL') return withPublishLock(dialect, callback)
  return withPublishSessions(dialect, lockWaitSeconds, (sessions) =>
    inLockedTransaction(dialect, sessions, () => callback(sessions)),
  )
}

/** Opens the two sessions of a publication, runs `callback` and closes them. `seconds` limits each statement. */
async function withPublishSessions<Result>(
  dialect: SqlDialect,
  seconds: number,
  callback: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> {
  await using ledger = await dialect.open({ role: 'service', seconds })
  await using tables = await dialect.open({ role: 'service', seconds })
  return await callback({ ledger, tables })
}

/**
 * Runs `callback` in a transaction that holds the publish lock. Throws a retryable problem if another process holds it
 * for too long.
 */
async function inLockedTransaction<Result>(
  dialect: SqlDialect,
  { ledger }: PublishSessions,
  callback: () => Promise<Result>,
): Promise<Result> {
  return ledger.transaction(async () => {
    await timeoutAsBusy(dialect, 'The warehouse', () => lockLedger(dialect, ledger))
    return callback()
  })
}

/**
 * Writes the decision to the ledger (Sluice's table of loads). The transaction also holds the publish lock; its commit
 * publishes the run.
 */
export async function recordDecision(
  dialect: SqlDialect,
  { ledger }: PublishSessions,
  decision: PublicationDecision,
): Promise<void> {
  await writeEntry(dialect, ledger, 'decisions', randomUUID(), decision)
}

/**
 * Applies the pending decisions of this and other processes under the publish lock. Returns the replaced tables under
 * their hidden names.
 */
export async function lockAndApplyDecisions(dialect: SqlDialect, seconds = lockWaitSeconds): Promise<TablePlace[]> {
  return withPublishSessions(dialect, seconds, async (sessions) => {
    const { replacedTables } = await inLockedTransaction(dialect, sessions, () => applyDecisions(dialect, sessions))
    return replacedTables
  })
}

/** Runs `callback`, in one transaction if the server has transactional DDL. */
export const inTransactionIfSupported = (
  dialect: SqlDialect,
  session: SqlSession,
  callback: () => Promise<void>,
): Promise<void> => (dialect.publication === 'TRANSACTION' ? session.transaction(callback) : callback())

/**
 * Completes pending decisions, so that the caller sees no half-published run. Does nothing if readers or another
 * publisher block it.
 */
export async function recoverPending(dialect: SqlDialect, session: SqlSession): Promise<void> {
  if (dialect.publication !== 'NON_TRANSACTIONAL') return
  const hasPendingDecisions = (await countEntries(dialect, session, 'decisions')) > 0
  if (!hasPendingDecisions) return
  await lockAndApplyDecisions(dialect, readerWaitSeconds).catch((error: unknown) => {
    if (!isBusy(toWarehouseProblem(dialect, error, 'The warehouse'))) throw error
  })
}

/**
 * Runs `callback`. If it fails because a table is missing, completes pending decisions and runs it a second time,
 * because another process may be renaming tables. Servers with transactional DDL need no second try.
 */
export async function retryOnMissingTable<Result>(
  dialect: SqlDialect,
  callback: () => Promise<Result>,
): Promise<Result> {
  try {
    return await callback()
  } catch (error) {
    const mayBeRenaming =
      dialect.publication === 'NON_TRANSACTIONAL' && dialect.explain(error)?.code === 'TABLE_MISSING'
    if (!mayBeRenaming) throw error
    await withSession(dialect, { role: 'service' }, (session) => recoverPending(dialect, session))
    return callback()
  }
}

/**
 * Drops the replaced tables that this process renamed. Never throws, because a maintenance sweep drops remaining
 * tables. The sweep also drops those that other processes renamed, because their last rename may still be running.
 */
export async function dropRetiredTables(dialect: SqlDialect, tables: readonly TablePlace[]): Promise<void> {
  if (tables.length === 0) return
  await withSession(dialect, { role: 'service' }, async (session) => {
    for (const place of tables) await session.execute(dialect.changes.dropTable(place))
  }).catch(() => {})
}

/**
 * A write-ahead record of a publication, for servers without transactional DDL: the DDL steps and their ledger changes.
 * Every step is idempotent, so any process can apply the decision from its start, even after a crash. Stored as JSON,
 * so the names of the fields cannot change.
 */
export interface PublicationDecision {
  steps: DecisionStep[]
  /** Metadata to store for these relations. If `id` is known, the metadata was stored together with the decision. */
  marks: { place: TablePlace; id?: string; mark: RelationMetadata }[]
  /** The object ids of replaced relations. Their metadata is deleted. */
  forgotten: string[]
  run?: { run: string; attempt: number; tables: PublishedTable[] }
}

export type DecisionStep =
  /**
   * Renames the replaced table `to` to the hidden name `aside`, then the staging table `from` to `to`. Without `aside`,
   * `to` is a new table.
   */
  | { kind: 'SWAP'; schema: string; from: string; to: string; aside?: string }
  | { kind: 'DROP'; place: TablePlace; id: string; view: boolean }
  /**
   * Creates or changes a view. With `kept`, the old view stays if the server rejects the query, and the decision does
   * not fail.
   */
  | { kind: 'VIEW'; place: TablePlace; query: string; kept?: true }

/** The two sessions of the process that holds the publish lock. */
export interface PublishSessions {
  /** The session that holds the publish lock in its open transaction. It reads and writes the ledger. */
  ledger: SqlSession
  /** A session outside that transaction, for DDL and catalogue queries. */
  tables: SqlSession
}

/**
 * Applies all pending decisions. The caller must hold the publish lock. Returns their number and the replaced tables
 * under their hidden names.
 */
async function applyDecisions(
  dialect: SqlDialect,
  sessions: PublishSessions,
): Promise<{ decisionCount: number; replacedTables: TablePlace[] }> {
  const { ledger } = sessions
  const decisions = (await readEntries(dialect, ledger, 'decisions')) as Map<string, PublicationDecision>
  const replacedTables: TablePlace[] = []
  for (const [id, decision] of decisions) {
    const outcome = await applySteps(dialect, sessions, decision.steps)
    await deleteEntry(dialect, ledger, 'decisions', id)
    // The run of an impossible decision can be published again.
    if (outcome === 'IMPOSSIBLE') continue
    replacedTables.push(...outcome)
    await applyLedgerChanges(dialect, sessions, decision)
  }
  return { decisionCount: decisions.size, replacedTables }
}

/**
 * Stores the metadata of a decision's new relations, deletes that of the replaced ones, and records the publication.
 */
async function applyLedgerChanges(
  dialect: SqlDialect,
  { ledger, tables }: PublishSessions,
  { marks, forgotten, run }: PublicationDecision,
): Promise<void> {
  for (const replacedId of forgotten) await deleteMetadata(dialect, ledger, replacedId)
  for (const { place, id: recordedId, mark: metadata } of marks) {
    const relation = await findRelation(dialect, tables, place)
    // The metadata of a relation with a recorded id was stored together with the decision.
    if (relation && relation.id !== recordedId) await setMetadata(dialect, ledger, relation.id, metadata)
  }
  if (run && !(await findPublication(dialect, ledger, run.run))) await recordPublication(dialect, ledger, run.run, run)
}

/**
 * The result of a step: the replaced tables that it renamed to hidden names. A step is impossible if someone dropped
 * its table or took its target name.
 */
type StepOutcome = TablePlace[] | 'IMPOSSIBLE'

/** Applies the steps in order, up to the first impossible one. Returns the replaced tables of all steps. */
async function applySteps(
  dialect: SqlDialect,
  sessions: PublishSessions,
  steps: readonly DecisionStep[],
): Promise<StepOutcome> {
  const replacedTables: TablePlace[] = []
  for (const step of steps) {
    const outcome = await applyStep(dialect, sessions, step)
    if (outcome === 'IMPOSSIBLE') return 'IMPOSSIBLE'
    replacedTables.push(...outcome)
  }
  return replacedTables
}

/** Applies one step, unless another process has already applied it. */
async function applyStep(dialect: SqlDialect, sessions: PublishSessions, step: DecisionStep): Promise<StepOutcome> {
  switch (step.kind) {
    case 'DROP':
      return applyDropStep(dialect, sessions, step)
    case 'VIEW':
      return applyViewStep(dialect, sessions, step)
    case 'SWAP':
      return applySwapStep(dialect, sessions, step)
  }
}

/** Runs statements that change the table or view `place`. Runs none of them if the publish lock was lost. */
const runUnderPublishLock = (
  dialect: SqlDialect,
  { ledger, tables }: PublishSessions,
  place: TablePlace,
  statements: readonly SqlStatement[],
): Promise<void> =>
  timeoutAsBusy(dialect, quotePlace(place), async () => {
    // This query fails if the connection that holds the lock was lost.
    await ledger.rows(plainSql('select 1 as held'))
    for (const statement of statements) await tables.execute(statement)
  })

/** Drops the table or view, unless it is already gone or another relation has its name. */
async function applyDropStep(
  dialect: SqlDialect,
  sessions: PublishSessions,
  { place, id, view: isView }: Extract<DecisionStep, { kind: 'DROP' }>,
): Promise<TablePlace[]> {
  const { dropView, dropTable } = dialect.changes
  const existing = await findRelation(dialect, sessions.tables, place)
  if (existing?.id === id)
    await runUnderPublishLock(dialect, sessions, place, [isView ? dropView(place) : dropTable(place)])
  return []
}

/**
 * Creates the view or changes its query. The step is impossible if a table has the view's name, or if the server
 * rejects the query. With `kept`, the old view stays in these cases, and the other steps are still applied.
 */
async function applyViewStep(
  dialect: SqlDialect,
  sessions: PublishSessions,
  { place, query, kept }: Extract<DecisionStep, { kind: 'VIEW' }>,
): Promise<StepOutcome> {
  const { changes } = dialect
  const outcomeIfImpossible = kept ? [] : 'IMPOSSIBLE'
  const existing = await findRelation(dialect, sessions.tables, place)
  if (existing?.kind === 'TABLE') return outcomeIfImpossible
  try {
    // Building the statements can fail too: the decision of an older version may contain a query that this version
    // rejects.
    const statements = existing ? changes.changeView!(place, query) : changes.createView(place, query)
    await runUnderPublishLock(dialect, sessions, place, statements)
    return []
  } catch (error) {
    const problem = toWarehouseProblem(dialect, error, quotePlace(place))
    if (!(problem instanceof WarehouseProblem) || problem.retryable) throw error
    return outcomeIfImpossible
  }
}

/**
 * Renames the published table `to` to its hidden name `aside`, then the staging table `from` to `to`. If the staging
 * table is missing, the step is already done, or it is impossible because someone dropped the table.
 */
async function applySwapStep(
  dialect: SqlDialect,
  sessions: PublishSessions,
  { schema, from, to, aside }: Extract<DecisionStep, { kind: 'SWAP' }>,
): Promise<StepOutcome> {
  const { grant, rename } = dialect.changes
  const relations = await dialect.catalogue.relations(sessions.tables, [schema])
  const existingNames = new Set(relations.map(({ name }) => name))
  const publishedTable = { schema, name: to }
  const stagingTable = { schema, name: from }
  const hasPublishedTable = existingNames.has(to)
  const createsTable = aside === undefined
  if (!existingNames.has(from)) {
    const isDone = hasPublishedTable && (createsTable || existingNames.has(aside))
    return isDone ? [] : 'IMPOSSIBLE'
  }
  const run = (statements: readonly SqlStatement[]) =>
    runUnderPublishLock(dialect, sessions, publishedTable, statements)
  await run(grant(stagingTable, 'READ'))
  if (!hasPublishedTable) {
    await run([rename(stagingTable, to)])
    return []
  }
  // Someone has created another table with the name of the new table.
  if (createsTable) return 'IMPOSSIBLE'
  if (existingNames.has(aside)) throw placeTaken(publishedTable)
  await run([rename(publishedTable, aside)])
  await run([rename(stagingTable, to)])
  return [{ schema, name: aside }]
}

/**
 * Runs `callback`. Throws the problem of a table in use if a statement times out, because some servers have no separate
 * lock time-out. `lockedName` is the table's name in the message.
 */
async function timeoutAsBusy(dialect: SqlDialect, lockedName: string, callback: () => Promise<void>): Promise<void> {
  try {
    await callback()
  } catch (error) {
    throw dialect.explain(error)?.code === 'QUERY_TIMEOUT' ? tableInUse(lockedName, error) : error
  }
}

const placeTaken = (place: TablePlace) =>
  new WarehouseProblem(
    'TABLE_NOT_OURS',
    `Someone created another ${quotePlace(place)} during a publication. Rename or drop it; until then, no run can publish to this warehouse.`,
  )
