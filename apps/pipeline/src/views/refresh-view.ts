import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { failpoint } from '@sluice/process'
import { LeaseLost, type TablePlace, type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { dropLeftover } from '../deleted-tables/pending-table-drops.ts'
import { definitionHash } from '@sluice/warehouses/view-store'
import { listStaleInputs } from './wait-for-input-views.ts'
import { isUnsavedView, hasSelectAll } from './define-managed-view.ts'
import { storePendingReason, findPendingReason } from './pending-views.ts'
import { storeViewSources, hasStoredSources } from './view-dependencies.ts'

/** The timeout in seconds of one statement in a run. */
const statementTimeout = 7_200

interface StoredView {
  id: number
  uid: string
  client: string
  schema: string
  name: string
  query: string
  materialized: boolean
}

/** The result of a run of a view. `rows` and `bytes` are the size of a materialised view. */
export interface RefreshResult {
  message: string
  /** Set if the view is pending because a table does not exist. `message` names the table. */
  pending?: true
  rows: number
  bytes: number
}

/** Reads the view that an attempt refreshes. Throws `LeaseLost` if the view was deleted. */
async function readView(db: Kysely<DB>, id: number): Promise<StoredView> {
  const row = await db
    .selectFrom('views as v')
    .innerJoin('schemas as s', 's.id', 'v.schema_id')
    .select([
      'v.id',
      'v.uid',
      'v.client',
      'v.view_name as name',
      'v.query',
      'v.materialized',
      's.schema_name as schema',
    ])
    .where('v.id', '=', id)
    // The lock waits until a concurrent change of the view is committed. While a run is running, users cannot change
    // the query.
    .forShare('v')
    .executeTakeFirst()
  if (!row) throw new LeaseLost('The view was deleted.')
  return row
}

/**
 * Refreshes a materialised view. Checks a plain view by reading it. First creates the view if the warehouse lacks its
 * saved version. If the view cannot be created because a table is missing, stores the reason and returns a result with
 * `pending`. `writeLine` writes a line to the run's log. Throws `WarehouseProblem`.
 */
export async function refreshView(
  db: Kysely<DB>,
  warehouse: Warehouse,
  id: number,
  { signal, writeLine }: { signal: AbortSignal; writeLine: (line: string) => void },
): Promise<RefreshResult> {
  const view = await readView(db, id)
  const startedAt = new Date()
  let isCreated: boolean
  try {
    isCreated = await createIfOutdated(db, warehouse, view, { signal, writeLine })
  } catch (error) {
    const pendingReason = await storeCreationFailure(db, warehouse, view, error)
    return { message: pendingReason, pending: true, rows: 0, bytes: 0 }
  }
  await storePendingReason(db, id, null)
  const staleInputs = await listStaleInputs(db, id)
  const staleText =
    staleInputs.length === 0 ? '' : ` It reads outdated views; refresh them first: ${staleInputs.join(', ')}.`
  const qualifiedName = `${view.schema}.${view.name}`
  if (!view.materialized) {
    const { columns } = await warehouse.queries.readTable(view.schema, view.name, { limit: 100, offset: 0 })
    const columnsText = formatCount(columns.length, 'column')
    return { message: `${qualifiedName} can be read: ${columnsText}.${staleText}`, rows: 0, bytes: 0 }
  }
  // The creation of a materialised view also fills it.
  if (!isCreated) await warehouse.views.refresh(view.schema, view.name, signal)
  await failpoint('view-filled')
  await db.updateTable('views').set({ filled_at: startedAt }).where('id', '=', id).execute()
  const refreshedView = await warehouse.views.find(view.schema, view.name)
  const { rowCount: rows = 0, size: bytes = 0 } = refreshedView ?? {}
  return { message: `Refreshed ${qualifiedName}: ${formatCount(rows, 'row')}.${staleText}`, rows, bytes }
}

/**
 * If the view could not be created because a table is missing, stores that reason and returns it: the view is pending.
 * Rethrows the error if no later load can fix it, or if an earlier version of the view exists.
 */
async function storeCreationFailure(
  db: Kysely<DB>,
  warehouse: Warehouse,
  { id, uid }: StoredView,
  error: unknown,
): Promise<string> {
  const pendingReason = findPendingReason(error)
  const isPermanent = pendingReason === undefined && error instanceof WarehouseProblem && !error.retryable
  if (isPermanent) await storePendingReason(db, id, null)
  if (pendingReason === undefined || (await warehouse.views.isManaged(uid))) throw error
  await storePendingReason(db, id, pendingReason)
  return pendingReason
}

/**
 * Creates the view if the warehouse lacks its saved version, or again if its query selects all columns with `*`,
 * because the columns may have changed. Returns whether it did; the view is then filled too. In each case, stores the
 * tables that the view reads.
 */
async function createIfOutdated(
  db: Kysely<DB>,
  warehouse: Warehouse,
  view: StoredView,
  { signal, writeLine }: { signal: AbortSignal; writeLine: (line: string) => void },
): Promise<boolean> {
  const existingView = await warehouse.views.find(view.schema, view.name)
  const existingVersion = existingView?.managed
  const isSavedVersion = existingVersion?.id === view.uid && existingVersion.definition === definitionHash(view)
  const mayHaveOtherColumns = hasSelectAll(view.query)
  if (isSavedVersion && !mayHaveOtherColumns) {
    // Store the tables that the view reads here too, because the process that created the view may have been killed
    // before it stored them.
    await storeReads(db, view, await warehouse.views.listReads(view.schema, view.name))
    return false
  }
  if (!isSavedVersion)
    writeLine(`The warehouse lacks the saved version of ${view.schema}.${view.name}, so it is created now.`)
  await warehouse.catalog.ensureSchema(view.schema)
  await dropLeftover(db, warehouse, { client: view.client, schema: view.schema, table: view.name })
  const takesOver = await isUnsavedView(db, existingView)
  const { reads } = await warehouse.views.define(
    { ...view, id: view.uid, takesOver, recreate: isSavedVersion },
    { seconds: statementTimeout },
    signal,
  )
  await failpoint('view-made')
  await storeReads(db, view, reads)
  return true
}

async function storeReads(db: Kysely<DB>, { id }: StoredView, reads: readonly TablePlace[]): Promise<void> {
  if (await hasStoredSources(db, id, reads)) return
  await db.transaction().execute(async (trx) => {
    // If the view was deleted in the meantime, do not store its tables.
    const { rows } = await sql`select from views where id = ${id} for update`.execute(trx)
    if (rows.length > 0) await storeViewSources(trx, id, reads)
  })
}

const formatCount = (amount: number, noun: string) => `${amount.toLocaleString('en')} ${noun}${amount === 1 ? '' : 's'}`
