import { randomUUID } from 'node:crypto'
import { uniqueNames } from '../../sql-text/check-identifier.ts'
import type { TablePlace } from '../../catalog.ts'
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
} from './dependent-views.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import {
  type RelationMetadata,
  type ViewMetadata,
  deleteMetadata,
  lockLedger,
  setMetadata,
} from '../publication-ledger.ts'
import {
  countRows,
  createFillableTable,
  findRelation,
  hiddenName,
  placeKey,
  quotePlace,
  readShape,
  type TableShape,
  withSession,
} from '../table-shape.ts'
import { readColumns } from '../sql-queries.ts'
import {
  type PublishSessions,
  type DecisionStep,
  type PublicationDecision,
  recordDecision,
  dropRetiredTables,
  withPublishLock,
  retryOnMissingTable,
  lockAndApplyDecisions,
  inTransactionIfSupported,
} from '../publication-recovery.ts'
import { concurrentlyChanged, toViewsDependProblem } from '../map-server-errors.ts'

/** Seconds after which a maintenance sweep removes what a dead process left. */
const sweepGraceSeconds = 600

export interface ViewLimits {
  seconds: number
  empty?: boolean
}

/**
 * Throws unless the server accepts the query as a view. Creates the view under a hidden name and drops it, so nothing
 * that readers use changes.
 */
export async function assertViewCompiles(
  dialect: SqlDialect,
  { schema }: TablePlace,
  query: string,
  { seconds }: ViewLimits,
  signal: AbortSignal,
): Promise<void> {
  const place = { schema, name: hiddenName('view', randomUUID()) }
  await withSession(dialect, { role: 'service', schemas: [schema], seconds, signal }, (session) => {
    const createAndDrop = async () => {
      for (const statement of dialect.changes.createView(place, query)) await session.execute(statement)
      await session.execute(dialect.changes.dropView(place))
    }
    return inTransactionIfSupported(dialect, session, createAndDrop)
  })
}

/** A hidden table with the rows of a query. */
export interface FilledTable extends TablePlace {
  id: string
  metadata: RelationMetadata
}

/**
 * Creates a hidden table with the query's column types and fills it as role `load`. Tries again if another publication
 * is renaming tables at the same time.
 */
export const createFilledTable = (
  dialect: SqlDialect,
  place: TablePlace,
  view: ViewMetadata,
  limits: ViewLimits,
  signal: AbortSignal,
): Promise<FilledTable> =>
  retryOnMissingTable(dialect, () => tryCreateFilledTable(dialect, place, view, limits, signal))

/** Creates a hidden table with the rows of a materialised view, or without rows if the view is to be created empty. */
async function tryCreateFilledTable(
  dialect: SqlDialect,
  { schema }: TablePlace,
  view: ViewMetadata,
  { seconds, empty = false }: ViewLimits,
  signal: AbortSignal,
): Promise<FilledTable> {
  const viewColumns = await readColumns(dialect, view.query, { schemas: [schema], signal, seconds })
  const names = uniqueNames(viewColumns.map(({ name }) => name))
  const columns = viewColumns.map(({ type }, index) => ({ name: names[index]!, type, nullable: true }))
  const place = { schema, name: hiddenName('view', randomUUID()) }
  // A sweep drops a PASSING relation after this time, in case this process dies before it publishes the table.
  const temporaryMetadata: RelationMetadata = {
    kind: 'PASSING',
    until: Date.now() + (seconds + sweepGraceSeconds) * 1_000,
  }
  const id = await withSession(dialect, { role: 'service' }, (session) =>
    createFillableTable(dialect, session, place, columns, temporaryMetadata),
  )
  try {
    const rows = await withSession(dialect, { role: 'load', schemas: [schema], seconds, signal }, async (session) => {
      if (!empty)
        for (const statement of dialect.changes.insert(place, names, view.query)) await session.execute(statement)
      return countRows(dialect, session, place)
    })
    return { ...place, id, metadata: { kind: 'VIEW', rows, view } }
  } catch (error) {
    await withSession(dialect, { role: 'service' }, (session) =>
      dropRelation(dialect, { tables: session, ledger: session }, { ...place, id, kind: 'TABLE' }),
    ).catch(() => {})
    throw error
  }
}

/** Drops a table or view, and its ledger metadata. */
export async function dropRelation(
  dialect: SqlDialect,
  { tables, ledger }: PublishSessions,
  relation: Pick<TableShape, 'schema' | 'name' | 'kind' | 'id'>,
): Promise<void> {
  const { dropView, dropTable } = dialect.changes
  await tables.execute(relation.kind === 'VIEW' ? dropView(relation) : dropTable(relation))
  await deleteMetadata(dialect, ledger, relation.id)
}

export interface ViewReplacement {
  place: TablePlace
  /** The views and tables that the new view replaces. Some may have other names. */
  replaced: readonly Pick<TableShape, 'schema' | 'name' | 'kind' | 'id'>[]
  /** The filled table of a materialised view, or the definition of a plain view. */
  newView: FilledTable | ViewMetadata
}

/** True for a materialised view: its rows are in a hidden table. A plain view is only metadata with a query. */
const isFilledTable = (newView: ViewReplacement['newView']): newView is FilledTable => 'metadata' in newView

/**
 * Replaces the view and recreates the views that read it, atomically. Throws VIEWS_DEPEND, with nothing changed, if
 * one of them would become invalid.
 */
export async function replaceInTransaction(
  dialect: SqlDialect,
  { place, replaced, newView }: ViewReplacement,
): Promise<void> {
  await withSession(dialect, { role: 'service' }, (session) =>
    session.transaction(async () => {
      await lockLedger(dialect, session)
      const dependentViews = findDependentViews(await listManagedViews(dialect, session), [place])
      await dropViews(dialect, session, dependentViews)
      for (const relation of replaced) await dropRelation(dialect, { tables: session, ledger: session }, relation)
      if (isFilledTable(newView)) await publishFilledTable(dialect, session, place, newView)
      else await createPlainView(dialect, session, place, newView)
      await recreateViews(dialect, session, dependentViews).catch((error: unknown) => {
        throw dependentViewsProblem(dialect, error, dependentViews.map(quotePlace), quotePlace(place))
      })
    }),
  )
}

/** Renames the hidden table to the view's name and lets users read it. */
async function publishFilledTable(
  dialect: SqlDialect,
  session: SqlSession,
  place: TablePlace,
  filledTable: FilledTable,
): Promise<void> {
  await session.execute(dialect.changes.rename(filledTable, place.name))
  for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
  await setMetadata(dialect, session, filledTable.id, filledTable.metadata)
}

async function createPlainView(
  dialect: SqlDialect,
  session: SqlSession,
  place: TablePlace,
  view: ViewMetadata,
): Promise<void> {
  for (const statement of dialect.changes.createView(place, view.query)) await session.execute(statement)
  const { id } = (await findRelation(dialect, session, place))!
  await setMetadata(dialect, session, id, { kind: 'VIEW', view })
}

/**
 * Returns the problem for views that would become invalid with the new view. `viewNames` are their names. Returns
 * temporary problems, and errors that are not from the server, unchanged.
 */
export const dependentViewsProblem = (
  dialect: SqlDialect,
  error: unknown,
  viewNames: readonly string[],
  qualifiedName: string,
): unknown =>
  toViewsDependProblem(
    dialect,
    error,
    qualifiedName,
    (reason) =>
      `${viewNames.join(', ')} would be invalid over the new ${qualifiedName}: ${reason} Nothing has changed; change or drop these views and try again.`,
  )

/**
 * Does the same as `replaceInTransaction` on servers without transactional DDL: records a decision and applies it.
 * Throws WAREHOUSE_BUSY if someone else changed the view or the views that read it meanwhile.
 */
export async function replaceByDecision(dialect: SqlDialect, replacement: ViewReplacement): Promise<void> {
  const { place, replaced, newView } = replacement
  const checkedViews = await assertDependentViewsCompile(dialect, place, newView)
  const filledTable = isFilledTable(newView) ? newView : undefined
  const metadata: RelationMetadata = isFilledTable(newView) ? newView.metadata : { kind: 'VIEW', view: newView }
  await withPublishLock(dialect, async (sessions) => {
    const dependentViews = findDependentViews(await listManagedViews(dialect, sessions.tables), [place])
    const existing = await findRelation(dialect, sessions.tables, place)
    const expected = replaced.find((relation) => isAt(relation, place))
    const isChangedByOther = existing?.id !== expected?.id
    if (isChangedByOther || hasUncheckedViews(dependentViews, checkedViews))
      throw concurrentlyChanged(quotePlace(place))
    if (filledTable) await setMetadata(dialect, sessions.ledger, filledTable.id, metadata)
    const marks: PublicationDecision['marks'] = [
      { place, ...(filledTable && { id: filledTable.id }), mark: metadata },
      ...dependentViews.map(recreateMark),
    ]
    const steps = planReplacementSteps(replacement, dependentViews)
    await recordDecision(dialect, sessions, { steps, marks, forgotten: replaced.map(({ id }) => id) })
  })
  await dropRetiredTables(dialect, await lockAndApplyDecisions(dialect))
  // An impossible decision is discarded without an error, so this checks that the view exists.
  const published = await withSession(dialect, { role: 'service' }, (session) => readShape(dialect, session, place))
  if (published?.metadata?.view?.id !== metadata.view?.id) throw concurrentlyChanged(quotePlace(place))
}

const isAt = (relation: TablePlace, place: TablePlace): boolean => placeKey(relation) === placeKey(place)

/**
 * Returns the steps that replace a view, in this order:
 *
 * 1. Drop a relation that has the view's name and another kind: a plain view is a VIEW, a materialised view a TABLE.
 * 2. Put the new view in place. A plain view of this name is changed. A table of this name is renamed to a hidden name.
 * 3. Recreate the views that read the view, because its columns may have changed.
 * 4. Drop the replaced relations with other names.
 */
function planReplacementSteps(
  { place, replaced, newView }: ViewReplacement,
  dependentViews: readonly ManagedView[],
): DecisionStep[] {
  const newKind = isFilledTable(newView) ? 'TABLE' : 'VIEW'
  const relationsAtPlace = replaced.filter((relation) => isAt(relation, place))
  const [relationAtPlace] = relationsAtPlace
  // The step of the new view replaces a relation of the same kind, so such a relation is not dropped before.
  const sameKindRelation = relationAtPlace?.kind === newKind ? relationAtPlace : undefined
  const asideName = sameKindRelation && { aside: hiddenName('aside', sameKindRelation.id, randomUUID()) }
  const newViewStep: DecisionStep = isFilledTable(newView)
    ? { kind: 'SWAP', schema: place.schema, from: newView.name, to: place.name, ...asideName }
    : { kind: 'VIEW', place, query: newView.query }
  return [
    ...relationsAtPlace.filter((relation) => relation !== sameKindRelation).map(dropStep),
    newViewStep,
    ...dependentViews.map(recreateStep),
    ...replaced.filter((relation) => !isAt(relation, place)).map(dropStep),
  ]
}

const dropStep = ({ schema, name, id, kind }: ViewReplacement['replaced'][number]): DecisionStep => ({
  kind: 'DROP',
  place: { schema, name },
  id,
  view: kind === 'VIEW',
})

/**
 * Checks that the views that read the replaced view compile with the new one. A plain view does not exist yet, so this
 * creates it under a hidden name and drops it again. Returns the ids of the views that compile. Throws VIEWS_DEPEND,
 * with nothing changed, if one does not.
 */
async function assertDependentViewsCompile(
  dialect: SqlDialect,
  place: TablePlace,
  newView: ViewReplacement['newView'],
): Promise<ReadonlySet<string>> {
  const views = await withSession(dialect, { role: 'service' }, (session) => listManagedViews(dialect, session))
  const dependentViews = findDependentViews(views, [place])
  if (dependentViews.length === 0) return new Set()
  try {
    if (isFilledTable(newView))
      return await assertViewsCompile(dialect, dependentViews, new Map([[placeKey(place), newView]]))
    const trialView = { schema: place.schema, name: hiddenName('view', randomUUID()) }
    return await withSession(dialect, { role: 'service' }, async (session) => {
      try {
        for (const statement of dialect.changes.createView(trialView, newView.query)) await session.execute(statement)
        return await assertViewsCompile(dialect, dependentViews, new Map([[placeKey(place), trialView]]))
      } finally {
        await session.execute(dialect.changes.dropView(trialView)).catch(() => {})
      }
    })
  } catch (error) {
    throw dependentViewsProblem(dialect, error, dependentViews.map(quotePlace), quotePlace(place))
  }
}
