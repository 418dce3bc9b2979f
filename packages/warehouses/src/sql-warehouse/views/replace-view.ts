import { randomUUID } from 'node:crypto'
import { uniqueNames } from '../../sql-text/check-identifier.ts'
import type { TablePlace } from '../../catalog.ts'
import {
  dropViews,
  listManagedViews,
  recreateViews,
  viewsAbove,
  assertViewsCompile,
  hasUncheckedViews,
} from './dependent-views.ts'
import type { SqlDialect } from '../sql-dialect.ts'
import { type RelationMetadata, type ViewMetadata, deleteMetadata, lockLedger, setMetadata } from '../publication-ledger.ts'
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
  recordDecision,
  dropRetiredTables,
  withPublishLock,
  retryOnMissingTable,
  lockAndApplyDecisions,
  inTransactionIfSupported,
} from '../recovery.ts'
import { concurrentlyChanged, viewsDepend } from '../problems.ts'

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
      const above = viewsAbove(await listManagedViews(dialect, session), [place])
      await dropViews(dialect, session, above)
      for (const relation of replaced) await dropRelation(dialect, { tables: session, ledger: session }, relation)
      if ('metadata' in newView) {
        await session.execute(dialect.changes.rename(newView, place.name))
        for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
        await setMetadata(dialect, session, newView.id, newView.metadata)
      } else {
        for (const statement of dialect.changes.createView(place, newView.query)) await session.execute(statement)
        await setMetadata(dialect, session, (await findRelation(dialect, session, place))!.id, {
          kind: 'VIEW',
          view: newView,
        })
      }
      await recreateViews(dialect, session, above).catch((error: unknown) => {
        throw viewsAboveProblem(dialect, error, above.map(quotePlace), quotePlace(place))
      })
    }),
  )
}

/** Returns the problem for views that would become invalid with the new view. `above` are their names. */
export const viewsAboveProblem = (
  dialect: SqlDialect,
  error: unknown,
  above: readonly string[],
  qualifiedName: string,
): unknown =>
  viewsDepend(
    dialect,
    error,
    qualifiedName,
    (reason) =>
      `${above.join(', ')} would be invalid over the new ${qualifiedName}: ${reason} Nothing has changed; change or drop these views and try again.`,
  )

/**
 * Does the same as `replaceInTransaction` on servers without transactional DDL: records a decision and applies it.
 * Throws WAREHOUSE_BUSY if someone else changed the view or the views that read it meanwhile.
 */
export async function replaceByDecision(
  dialect: SqlDialect,
  { place, replaced, newView }: ViewReplacement,
): Promise<void> {
  const checkedViews = await assertViewsAboveCompile(dialect, place, newView)
  const hasViewName = (relation: TablePlace) => placeKey(relation) === placeKey(place)
  const table = 'metadata' in newView ? newView : undefined
  const metadata: RelationMetadata = 'metadata' in newView ? newView.metadata : { kind: 'VIEW', view: newView }
  const replacedRelation = replaced.find(hasViewName)
  // An existing plain view is changed in place, and an existing table is renamed to a hidden name. Any other replaced
  // relation is dropped.
  const keptRelation = replacedRelation?.kind === (table ? 'TABLE' : 'VIEW') ? replacedRelation : undefined
  await withPublishLock(dialect, async (sessions) => {
    const above = viewsAbove(await listManagedViews(dialect, sessions.tables), [place])
    const existing = await findRelation(dialect, sessions.tables, place)
    const isReplacedByOther = existing?.id !== replacedRelation?.id
    if (isReplacedByOther || hasUncheckedViews(above, checkedViews)) throw concurrentlyChanged(quotePlace(place))
    const dropSteps = (relation: ViewReplacement['replaced'][number]): DecisionStep[] => {
      const { schema, name, id, kind } = relation
      return relation === keptRelation ? [] : [{ kind: 'DROP', place: { schema, name }, id, view: kind === 'VIEW' }]
    }
    const steps = replaced.filter(hasViewName).flatMap(dropSteps)
    if (table) {
      const aside = keptRelation && { aside: hiddenName('aside', keptRelation.id, randomUUID()) }
      steps.push({ kind: 'SWAP', schema: place.schema, from: table.name, to: place.name, ...aside })
    } else if (!('metadata' in newView)) steps.push({ kind: 'VIEW', place, query: newView.query })
    if (table) await setMetadata(dialect, sessions.ledger, table.id, metadata)
    const marks = [{ place, ...(table && { id: table.id }), mark: metadata }]
    for (const { schema, name, id, metadata: dependentMetadata } of above) {
      steps.push({ kind: 'VIEW', place: { schema, name }, query: dependentMetadata.view.query, kept: true })
      marks.push({ place: { schema, name }, id, mark: dependentMetadata })
    }
    steps.push(...replaced.filter((relation) => !hasViewName(relation)).flatMap(dropSteps))
    await recordDecision(dialect, sessions, { steps, marks, forgotten: replaced.map(({ id }) => id) })
  })
  await dropRetiredTables(dialect, await lockAndApplyDecisions(dialect))
  const published = await withSession(dialect, { role: 'service' }, (session) => readShape(dialect, session, place))
  if (published?.metadata?.view?.id !== metadata.view?.id) throw concurrentlyChanged(quotePlace(place))
}

/**
 * Checks that the views that read the replaced view compile with the new one, which has a hidden name at this point.
 * Returns the ids of the views that compile. Throws VIEWS_DEPEND, with nothing changed, if one does not.
 */
async function assertViewsAboveCompile(
  dialect: SqlDialect,
  place: TablePlace,
  newView: ViewReplacement['newView'],
): Promise<ReadonlySet<string>> {
  const views = await withSession(dialect, { role: 'service' }, (session) => listManagedViews(dialect, session))
  const above = viewsAbove(views, [place])
  const trial = { schema: place.schema, name: hiddenName('view', randomUUID()) }
  if (above.length === 0) return new Set()
  try {
    if ('metadata' in newView) return await assertViewsCompile(dialect, above, new Map([[placeKey(place), newView]]))
    return await withSession(dialect, { role: 'service' }, async (session) => {
      try {
        for (const statement of dialect.changes.createView(trial, newView.query)) await session.execute(statement)
        return await assertViewsCompile(dialect, above, new Map([[placeKey(place), trial]]))
      } finally {
        await session.execute(dialect.changes.dropView(trial)).catch(() => {})
      }
    })
  } catch (error) {
    throw viewsAboveProblem(dialect, error, above.map(quotePlace), quotePlace(place))
  }
}
