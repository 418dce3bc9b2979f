import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { ViewDefinition } from '@sluice/warehouses/view-store'
import { type TablePlace, type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { findPendingReason } from './pending-views.ts'
import { type SqlPiece, splitSql } from '../variables/split-sql.ts'

/** Time limits while a user saves a view: seconds for one statement, and milliseconds for all statements (`whole`). */
const savingLimits = { seconds: 8, whole: 20_000 }

/** The result of creating or changing a view. */
export interface MadeView {
  /** The tables that the view reads. Undefined if the old view stays. */
  reads: TablePlace[] | undefined
  /** Whether a run must fill the view, because that takes longer than a user waits. */
  unfinished: boolean
  /** The reason why the view cannot be created yet: a table that its query reads is missing. */
  pending?: string
}

/**
 * Creates or changes a view in the warehouse while a user waits. If the result is `unfinished`, the caller must queue a run that
 * fills the view: until then a new view is empty, and a changed view stays as it was. If the result has `pending`, a new view was
 * not created, because a table that its query reads is missing. After a `WarehouseProblem`, nothing has changed. `requestAborted`
 * stops the creation when the user no longer waits.
 */
export async function makeView(
  db: Kysely<DB>,
  warehouse: Warehouse,
  view: ViewDefinition,
  requestAborted?: AbortSignal,
): Promise<MadeView> {
  const timeout = AbortSignal.timeout(savingLimits.whole)
  const signal = requestAborted ? AbortSignal.any([requestAborted, timeout]) : timeout
  await warehouse.catalog.ensureSchema(view.schema)
  const existingView = await warehouse.views.find(view.schema, view.name)
  const isOwn = existingView?.managed?.id === view.id
  const definition = {
    ...view,
    takesOver: await isUnsaved(db, existingView),
    recreate: isOwn && hasSelectAll(view.query),
  }
  try {
    const { reads } = await warehouse.views.define(definition, savingLimits, signal)
    return { reads, unfinished: false }
  } catch (error) {
    const pending = findPendingReason(error)
    // Only a new view waits for the missing table. An existing view stays as it was, and its change is rejected.
    if (pending !== undefined && !(await warehouse.views.isManaged(view.id)))
      return { reads: undefined, unfinished: false, pending }
    if (!(error instanceof WarehouseProblem && error.code === 'QUERY_TIMEOUT' && view.materialized)) throw error
    if (isOwn) return { reads: undefined, unfinished: true }
    return { ...(await createEmptyView(warehouse, definition, signal, error)), unfinished: true }
  }
}

/** Creates an empty view, unless the view still exists under its old name with its rows. */
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

/** Whether a view in the warehouse is not in the service's database, because the service was killed before the commit there. */
export async function isUnsaved(
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

/** Returns a piece of SQL without the content of comments and literals, which can look like SQL. */
function withoutContent({ kind, text }: SqlPiece): string {
  if (kind === 'comment') return ' '
  return kind === 'literal' ? 'x' : text
}

/** Whether new columns of a table would be new columns of the query, because it has `select *`, `t.*` or `table t`. */
export function hasSelectAll(query: string): boolean {
  const code = [...splitSql(query)].map(withoutContent).join('')
  return /\bselect\s+((all|distinct)\s+)?\*|[.,]\s*\*|\btable\s+[\w".]/i.test(code)
}
