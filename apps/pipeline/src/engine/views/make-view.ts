import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Place, ViewDefinition } from '../warehouses/views.ts'
import { type Warehouse, WarehouseProblem } from '../warehouses/warehouse.ts'
import { pendingReason } from './pending-views.ts'
import { sqlPieces } from '../variables/sql-pieces.ts'

/** Seconds for one statement, and milliseconds for all of them. The person who saves a view waits for both. */
const patience = { seconds: 8, whole: 20_000 }

/** What came of it. */
export interface Made {
  /** Undefined where the old view still stands. */
  reads: Place[] | undefined
  /** Its rows take so long that a run has to fill it. */
  unfinished: boolean
  /** Why there is no view yet: a table that it reads is not there. */
  pending?: string
}

/**
 * Makes a view in the warehouse while somebody waits, or changes it. What takes long to fill is left to a run: a new view is
 * empty until then, a changed one stays as it was. Throws `WarehouseProblem`; nothing has changed then.
 */
export async function makeView(
  db: Kysely<DB>,
  warehouse: Warehouse,
  view: ViewDefinition,
  left?: AbortSignal,
): Promise<Made> {
  const late = AbortSignal.timeout(patience.whole)
  const signal = left ? AbortSignal.any([left, late]) : late
  await warehouse.ensureSchema(view.schema)
  const there = await warehouse.findView(view.schema, view.name)
  const isThere = there?.managed?.id === view.id
  const whole = { ...view, takesOver: await isLeftOver(db, there), anew: isThere && selectsAll(view.query) }
  try {
    const { reads } = await warehouse.defineView(whole, patience, signal)
    return { reads, unfinished: false }
  } catch (error) {
    const pending = pendingReason(error)
    // An old view stays, and its change is refused.
    if (pending !== undefined && !(await warehouse.isManaged(view.id)))
      return { reads: undefined, unfinished: false, pending }
    if (!(error instanceof WarehouseProblem && error.code === 'QUERY_TIMEOUT' && view.materialized)) throw error
    if (isThere) return { reads: undefined, unfinished: true }
    return { ...(await emptyView(warehouse, whole, signal, error)), unfinished: true }
  }
}

/** One that was there before under another name keeps its old rows there. */
async function emptyView(
  warehouse: Warehouse,
  view: ViewDefinition,
  signal: AbortSignal,
  late: WarehouseProblem,
): Promise<{ reads: Place[] | undefined }> {
  if (await warehouse.isManaged(view.id)) return { reads: undefined }
  if (signal.aborted) throw late
  return warehouse.defineView(view, { seconds: patience.seconds, empty: true }, signal)
}

/** Left by a view that was never saved, because somebody died between the warehouse and our database. */
export async function isLeftOver(db: Kysely<DB>, there: { managed?: { id: string } } | undefined): Promise<boolean> {
  const uid = there?.managed?.id
  if (!uid) return false
  const known = await db
    .selectFrom('views')
    .select('id')
    .where((eb) => eb(eb.cast<string>('uid', 'text'), '=', uid))
    .executeTakeFirst()
  return known === undefined
}

/** Whether the columns of a query may be those of its tables: it has `select *`, `t.*` or `table t`. */
export function selectsAll(query: string): boolean {
  const code = [...sqlPieces(query)]
    .map(({ kind, text }) => (kind === 'comment' ? ' ' : kind === 'literal' ? 'x' : text))
    .join('')
  return /\bselect\s+((all|distinct)\s+)?\*|[.,]\s*\*|\btable\s+[\w".]/i.test(code)
}
