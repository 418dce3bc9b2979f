import { randomUUID } from 'node:crypto'
import type { TablePlace } from '../catalog.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import {
  type Mark,
  countEntries,
  dropMark,
  writeEntry,
  enterRun,
  readEntries,
  deleteEntry,
  lockLedger,
  findPublication,
  setMark,
} from './ledger.ts'
import { tableInUse, isBusy, problemOf } from './problems.ts'
import { withSession, findRelation, quotePlace } from './table-shape.ts'
import { type PublishedTable, WarehouseProblem } from '../warehouse.ts'
import { type Sql, plainSql } from './sql.ts'

/** Seconds that a change waits for readers of the table or for the publish lock. */
const lockWaitSeconds = 30
const readerWaitSeconds = 5

/**
 * Runs `work` exclusively among all processes that change publications. With `NON_TRANSACTIONAL` publication it first finishes
 * another process's pending decision; transactional publications exclude each other through their own locks.
 */
export async function withPublishLock<Result>(
  dialect: Dialect,
  work: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> {
  if (dialect.publication === 'TRANSACTION')
    return withSession(dialect, { role: 'service' }, (session) => work({ ledger: session, tables: session }))
  return withPublishSessions(dialect, lockWaitSeconds, async (sessions) => {
    for (;;) {
      const done = await withLedgerLock(dialect, sessions, async () =>
        (await applyDecisions(dialect, sessions)) ? undefined : { result: await work(sessions) },
      )
      if (done) return done.result
    }
  })
}

/** Runs `work` after every pending publication has ended, in both publication modes. */
export const afterPendingPublications = <Result>(
  dialect: Dialect,
  work: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> =>
  dialect.publication === 'NON_TRANSACTIONAL'
    ? withPublishLock(dialect, work)
    : withPublishSessions(dialect, lockWaitSeconds, (sessions) =>
        withLedgerLock(dialect, sessions, () => work(sessions)),
      )

async function withPublishSessions<Result>(
  dialect: Dialect,
  seconds: number,
  work: (sessions: PublishSessions) => Promise<Result>,
): Promise<Result> {
  await using ledger = await dialect.open({ role: 'service', seconds })
  await using tables = await dialect.open({ role: 'service', seconds })
  return await work({ ledger, tables })
}

async function withLedgerLock<Result>(
  dialect: Dialect,
  { ledger }: PublishSessions,
  work: () => Promise<Result>,
): Promise<Result> {
  return ledger.transaction(async () => {
    await timeoutAsBusy(dialect, 'The warehouse', () => lockLedger(dialect, ledger))
    return work()
  })
}

/** Records the decision. It takes effect when the transaction of the publish lock commits. */
export async function recordDecision(
  dialect: Dialect,
  { ledger }: PublishSessions,
  decision: PublicationDecision,
): Promise<void> {
  await writeEntry(dialect, ledger, 'decisions', randomUUID(), decision)
}

/** Applies recorded decisions of this or of a crashed process. Returns the tables that it retired. */
export async function recover(dialect: Dialect, seconds = lockWaitSeconds): Promise<TablePlace[]> {
  return withPublishSessions(
    dialect,
    seconds,
    async (sessions) => (await withLedgerLock(dialect, sessions, () => applyDecisions(dialect, sessions))) ?? [],
  )
}

/** Runs `work` in one transaction if the server supports transactional DDL. */
export const inTransactionIfSupported = (
  dialect: Dialect,
  session: Session,
  work: () => Promise<void>,
): Promise<void> => (dialect.publication === 'TRANSACTION' ? session.transaction(work) : work())

/** Applies pending decisions before tables are read. Ignores a decision that is blocked by readers. */
export async function recoverPending(dialect: Dialect, session: Session): Promise<void> {
  if (dialect.publication !== 'NON_TRANSACTIONAL' || (await countEntries(dialect, session, 'decisions')) === 0) return
  await recover(dialect, readerWaitSeconds).catch((error: unknown) => {
    if (!isBusy(problemOf(dialect, error, 'The warehouse'))) throw error
  })
}

/** A table is briefly missing during its rename: recovers pending decisions and retries once. */
export async function retryOnMissingTable<Result>(dialect: Dialect, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (dialect.publication !== 'NON_TRANSACTIONAL' || dialect.explain(error)?.code !== 'TABLE_MISSING') throw error
    await withSession(dialect, { role: 'service' }, (session) => recoverPending(dialect, session))
    return work()
  }
}

/**
 * Drops the tables that this process renamed. The tables of another process's decision stay until a sweep: that process's last
 * statement may still be running, and then finds the name taken.
 */
export async function dropRetiredTables(dialect: Dialect, aside: readonly TablePlace[]): Promise<void> {
  if (aside.length === 0) return
  await withSession(dialect, { role: 'service' }, async (session) => {
    for (const place of aside) await session.execute(dialect.changes.dropTable(place))
  }).catch(() => {})
}

/**
 * The planned changes to tables and views on servers without a transaction over them. After its row is in the ledger, any process
 * may carry it out: a step that is already done changes nothing.
 */
export interface PublicationDecision {
  steps: DecisionStep[]
  /**
   * The metadata of the relations at these places from then on. If a relation already has its `id`, the mark is written together
   * with the decision.
   */
  marks: { place: TablePlace; id?: string; mark: Mark }[]
  /** The ids of the marks to delete. */
  forgotten: string[]
  run?: { run: string; attempt: number; tables: PublishedTable[] }
}

export type DecisionStep =
  /**
   * Renames a table from a hidden name to another name in its schema; the table at that name is moved aside if it is the expected one.
   */
  | { kind: 'SWAP'; schema: string; from: string; to: string; aside?: string }
  | { kind: 'DROP'; place: TablePlace; id: string; view: boolean }
  /** Creates the view or changes it to this text. `kept`: a view that is no longer valid stays as it is. */
  | { kind: 'VIEW'; place: TablePlace; query: string; kept?: true }

/** The sessions of the process that holds the publish lock. */
export interface PublishSessions {
  /** The session of the transaction that holds the publish lock. It reads and writes the ledger. */
  ledger: Session
  /** Outside that transaction: for tables, views and catalog queries. */
  tables: Session
}

/** Returns undefined if no decision is pending. */
async function applyDecisions(dialect: Dialect, sessions: PublishSessions): Promise<TablePlace[] | undefined> {
  const { ledger, tables } = sessions
  const decisions = (await readEntries(dialect, ledger, 'decisions')) as Map<string, PublicationDecision>
  if (decisions.size === 0) return undefined
  const aside: TablePlace[] = []
  for (const [id, { steps, marks, forgotten, run }] of decisions) {
    const taken = await applySteps(dialect, sessions, steps)
    await deleteEntry(dialect, ledger, 'decisions', id)
    if (!taken) continue
    aside.push(...taken)
    for (const gone of forgotten) await dropMark(dialect, ledger, gone)
    for (const known of marks) {
      const relation = await findRelation(dialect, tables, known.place)
      if (relation && relation.id !== known.id) await setMark(dialect, ledger, relation.id, known.mark)
    }
    if (run && !(await findPublication(dialect, ledger, run.run))) await enterRun(dialect, ledger, run.run, run)
  }
  return aside
}

/**
 * Returns undefined if a step is impossible: a manual change dropped its input or took its target name. Then it writes no marks,
 * and the run can be published again.
 */
async function applySteps(
  dialect: Dialect,
  sessions: PublishSessions,
  steps: readonly DecisionStep[],
): Promise<TablePlace[] | undefined> {
  const aside: TablePlace[] = []
  for (const step of steps) {
    const taken = await applyStep(dialect, sessions, step)
    if (!taken) return undefined
    aside.push(...taken)
  }
  return aside
}

/** Returns the relation that it moved aside; undefined as above. */
async function applyStep(
  dialect: Dialect,
  { ledger, tables }: PublishSessions,
  step: DecisionStep,
): Promise<TablePlace[] | undefined> {
  const { changes } = dialect
  const place = step.kind === 'SWAP' ? { schema: step.schema, name: step.to } : step.place
  const there = new Map(
    (await dialect.catalogue.relations(tables, [place.schema])).map((relation) => [relation.name, relation]),
  )
  const existing = there.get(place.name)
  const act = (statements: readonly Sql[]) =>
    timeoutAsBusy(dialect, quotePlace(place), async () => {
      // Fails if the publish lock was lost, so that nothing is changed without it.
      await ledger.rows(plainSql('select 1 as held'))
      for (const statement of statements) await tables.execute(statement)
    })
  if (step.kind === 'DROP') {
    if (existing?.id === step.id) await act([step.view ? changes.dropView(place) : changes.dropTable(place)])
    return []
  }
  if (step.kind === 'VIEW') {
    const without = step.kept ? [] : undefined
    if (existing?.kind === 'TABLE') return without
    try {
      // An older version may have decided on a text that this one rejects; the rejection does not block the other steps.
      await act(existing ? changes.changeView!(place, step.query) : changes.createView(place, step.query))
      return []
    } catch (error) {
      const problem = problemOf(dialect, error, quotePlace(place))
      if (!(problem instanceof WarehouseProblem) || problem.retryable) throw error
      return without
    }
  }
  const from = { schema: step.schema, name: step.from }
  if (!there.has(step.from)) {
    const isDone = existing !== undefined && (step.aside === undefined || there.has(step.aside))
    return isDone ? [] : undefined
  }
  await act(changes.grant(from, 'READ'))
  if (existing) {
    if (step.aside === undefined) return undefined
    if (there.has(step.aside)) throw placeTaken(place)
    await act([changes.rename(place, step.aside)])
  }
  await act([changes.rename(from, step.to)])
  return existing ? [{ schema: step.schema, name: step.aside! }] : []
}

/** Some servers have no lock time-out of their own. */
async function timeoutAsBusy(dialect: Dialect, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw dialect.explain(error)?.code === 'QUERY_TIMEOUT' ? tableInUse(what, error) : error
  }
}

const placeTaken = (place: TablePlace) =>
  new WarehouseProblem(
    'TABLE_NOT_OURS',
    `Another ${quotePlace(place)} was created during the publication. Move it away; until then, nothing can be published.`,
  )
