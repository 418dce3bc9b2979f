import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { ViewDefinition } from '@sluice/warehouses/view-store'
import { type TablePlace, type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { findPendingReason } from './pending-views.ts'
import { type SqlPiece, splitSql } from '../variables/split-sql.ts'

/**
 * The timeouts while a user saves a view: seconds for one statement (`seconds`), and milliseconds for all statements
 * (`totalMs`).
 */
const savingLimits = { seconds: 8, totalMs: 20_000 }

/** The result of creating or changing a view in the warehouse. */
export interface ViewSaveResult {
  /** The tables that the view reads. Undefined if the existing view was not changed. */
  reads: TablePlace[] | undefined
  /** Whether a run must fill the view, because that takes longer than a user should wait. */
  needsFill: boolean
  /** Set if the view cannot be created yet, because its query reads a table that does not exist. */
  pending?: string
}

/**
 * Creates or changes a view in the warehouse while a user waits. If the result has `needsFill`, the caller must queue a
 * run that fills the view: until then a new view is empty, and a changed view stays the same. If the result has
 * `pending`, the view was not created, because its query reads a table that does not exist. If it throws
 * `WarehouseProblem`, nothing has changed. `requestAborted` stops the creation when the user no longer waits.
 */
export async function defineManagedView(
  db: Kysely<DB>,
  warehouse: Warehouse,
  view: ViewDefinition,
  requestAborted?: AbortSignal,
): Promise<ViewSaveResult> {
  const timeout = AbortSignal.timeout(savingLimits.totalMs)
  const signal = requestAborted ? AbortSignal.any([requestAborted, timeout]) : timeout
  await warehouse.catalog.ensureSchema(view.schema)
  const sameNamedView = await warehouse.views.find(view.schema, view.name)
  const existsUnderThisName = sameNamedView?.managed?.id === view.id
  const definition = {
    ...view,
    takesOver: await isUnsavedView(db, sameNamedView),
    // The tables may have other columns since the view was created.
    recreate: existsUnderThisName && hasSelectAll(view.query),
  }
  try {
    const { reads } = await warehouse.views.define(definition, savingLimits, signal)
    return { reads, needsFill: false }
  } catch (error) {
    const pendingReason = findPendingReason(error)
    // Only a new view can wait for a missing table. A change of an existing view fails, and the view stays the same.
    if (pendingReason !== undefined && !(await warehouse.views.isManaged(view.id)))
      return { reads: undefined, needsFill: false, pending: pendingReason }
    // Filling a materialised view may take longer than a user should wait, so a run fills it.
    const isSlowFill = error instanceof WarehouseProblem && error.code === 'QUERY_TIMEOUT' && view.materialized
    if (!isSlowFill) throw error
    if (existsUnderThisName) return { reads: undefined, needsFill: true }
    const { reads } = await createEmptyView(warehouse, definition, signal, error)
    return { reads, needsFill: true }
  }
}

/**
 * Creates an empty view. If the view exists under an earlier name, does nothing instead, so that it keeps its rows, and
 * returns no `reads`. Throws `timeoutProblem` if `signal` has aborted.
 */
async function createEmptyView(
  warehouse: Warehouse,
  view: ViewDefinition,
  signal: AbortSignal,
  timeoutProblem: WarehouseProblem,
): Promise<{ reads: TablePlace[] | undefined }> {
  if (await warehouse.views.isManaged(view.id)) return { reads: undefined }
  if (signal.aborted) throw timeoutProblem
  return warehouse.views.define(view, { seconds: savingLimits.seconds, empty: true }, signal)
}

/**
 * Returns whether a view of the warehouse is managed by Sluice but has no row in the service's database. That happens
 * if the service is killed after it has created the view, and before it has committed the row.
 */
export async function isUnsavedView(
  db: Kysely<DB>,
  existingView: { managed?: { id: string } } | undefined,
): Promise<boolean> {
  const uid = existingView?.managed?.id
  if (!uid) return false
  const savedView = await db
    .selectFrom('views')
    .select('id')
    .where((eb) => eb(eb.cast<string>('uid', 'text'), '=', uid))
    .executeTakeFirst()
  return savedView === undefined
}

/** Returns a piece of SQL without the content of comments and literals, because the content may look like SQL. */
function withoutContent({ kind, text }: SqlPiece): string {
  if (kind === 'comment') return ' '
  return kind === 'literal' ? 'x' : text
}

/**
 * Returns whether the query contains `select *`, `t.*` or `table t`, so that a new column of a table becomes a new
 * column of the query.
 */
export function hasSelectAll(query: string): boolean {
  const code = [...splitSql(query)].map(withoutContent).join('')
  return /\bselect\s+((all|distinct)\s+)?\*|[.,]\s*\*|\btable\s+[\w".]/i.test(code)
}
