import type { View, ViewBody } from '@sluice/contracts'
import { type Caller, type JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import { redactSecrets } from '@sluice/records'
import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { dropLeftover, recordDrop } from '../../deleted-tables/pending-table-drops.ts'
import { startRun } from '../../run-lifecycle/start-run.ts'
import { type ViewSaveResult, defineManagedView, hasSelectAll } from '../../views/define-managed-view.ts'
import { queuePendingViews, storePendingReason } from '../../views/pending-views.ts'
import { storeViewSources, renameSource } from '../../views/view-dependencies.ts'
import type { TablePlace } from '@sluice/warehouses/warehouse'
import { moveDescriptions } from '../../table-descriptions/stored-descriptions.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { type ViewColumns, checkView, toViewColumns } from './validate-view.ts'
import { type ViewRow, viewRecords } from './records.ts'
import { dropDeletedTables } from '../drop-deleted-tables.ts'
import { prepareDeletion, assertNameUnused } from '../assert-not-in-use.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'

type SaveContext = RequestContext & { body: ViewBody }
type DefiningColumns = Pick<ViewRow, 'uid' | 'client' | 'query' | 'materialized' | 'view_name'>

const saveTimeoutMs = 60_000

/** The number of attempts to save a view while other requests change it at the same time. */
const maxAttempts = 3

/**
 * Creates the view in the warehouse, then saves it. If either step fails, both are undone. No transaction of the
 * service's database waits for the warehouse. If the process dies between the steps, the next view with that name takes
 * over the one in the warehouse.
 */
export async function createView(input: SaveContext): Promise<JsonResponse<View>> {
  const { body, caller, request, write, db } = input
  await checkView(body, input)
  const row = await runInSlot(input, async (signal) => {
    const { columns, schema } = await inTransaction(db, (trx) => toViewColumns(trx, body, undefined, input))
    const definition = { ...columns, uid: columns.uid!, client: caller.client }
    const builtView = await buildView(input, definition, schema, signal)
    return undoBuildOnFailure(input, definition, { schema, name: columns.view_name }, () =>
      write(async (trx) => {
        // Check the body again, because another request may have taken a name while the warehouse created the view.
        const { columns: checkedColumns } = await toViewColumns(trx, body, undefined, input)
        const inserted = await viewRecords.insert(trx, caller, { ...checkedColumns, uid: definition.uid })
        const saved = await recordBuiltView(trx, input, inserted, builtView)
        request.audit(saved.uid, { after: redactSecrets(saved) })
        return saved
      }),
    )
  })
  return viewRecords.created(row, input)
}

/** Updates a view. Tries again if another request changes it at the same time. Throws 409 after `maxAttempts`. */
export async function updateView(input: SaveContext & { params: { uid: string } }): Promise<JsonResponse<View>> {
  await checkView(input.body, input)
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const row = await updateOnce(input)
    if (row) return viewRecords.answer(row, input)
  }
  throw problems.conflict(
    '/',
    'Other requests keep changing this view. Read it again and apply your change to the new version.',
  )
}

/**
 * Tries to update the view: builds it in the warehouse if its definition changed or the build is outdated, then saves
 * it. Returns undefined if another request changed it at the same time.
 */
async function updateOnce(input: SaveContext & { params: { uid: string } }): Promise<ViewRow | undefined> {
  const { db, body, caller, params, request } = input
  const before = await viewRecords.readToWrite(db, caller, params.uid, request.ifMatch)
  const planned = await inTransaction(db, (trx) => toViewColumns(trx, body, before, input))
  const oldPlace = await findViewPlace(db, before)
  const newPlace = { schema: planned.schema, name: planned.columns.view_name }
  await inTransaction(db, (trx) => assertOldNameUnused(trx, caller, before, oldPlace, newPlace))
  // The warehouse stores the columns of `select *` at creation, so such a view is always created again.
  const isRebuildNeeded = before.pending !== null || hasSelectAll(before.query)
  if (isDefinitionUnchanged(before, oldPlace, planned) && !isRebuildNeeded)
    return saveUpdate(input, before, oldPlace, undefined)
  return runInSlot(input, async (signal) => {
    await assertNotRunning(db, before)
    const definition = { ...planned.columns, uid: before.uid, client: before.client }
    const builtView = await buildView(input, definition, planned.schema, signal)
    return undoBuildOnFailure(input, definition, newPlace, () => saveUpdate(input, before, oldPlace, builtView))
  })
}

/** Throws 409 if the view gets another name or schema while SQL of other objects uses the old one. */
async function assertOldNameUnused(
  trx: Transaction<DB>,
  caller: Caller,
  { id, client }: ViewRow,
  oldPlace: TablePlace,
  newPlace: TablePlace,
): Promise<void> {
  if (oldPlace.schema === newPlace.schema && oldPlace.name === newPlace.name) return
  await assertNameUnused(trx, caller, '/dataWarehouseViewName', { kind: 'VIEW', id, client, relation: oldPlace })
}

/** Returns whether the view keeps its schema, name, query and `materialized`. */
function isDefinitionUnchanged(
  before: ViewRow,
  oldPlace: TablePlace,
  { columns, schema }: { columns: ViewColumns; schema: string },
): boolean {
  if (oldPlace.schema !== schema) return false
  const definingColumns = ['view_name', 'query', 'materialized'] as const
  return definingColumns.every((column) => before[column] === columns[column])
}

/**
 * Stores the changed view. `builtView` is the new view in the warehouse; undefined if only the stored row changes.
 * Returns undefined, and changes nothing, if another request has changed the view since `plannedFrom` was read.
 */
function saveUpdate(
  input: SaveContext & { params: { uid: string } },
  plannedFrom: ViewRow,
  oldPlace: TablePlace,
  builtView: BuiltView | undefined,
): Promise<ViewRow | undefined> {
  const { body, caller, params, request, write } = input
  return write(async (trx) => {
    const before = await viewRecords.lock(trx, caller, params.uid, request.ifMatch)
    if (before.version !== plannedFrom.version) throw new ConcurrentChange()
    const { columns, schema } = await toViewColumns(trx, body, before, input)
    if (builtView) await assertNotRunning(trx, before)
    const updated = await viewRecords.update(trx, caller, before, columns)
    const after = builtView ? await recordBuiltView(trx, input, updated, builtView) : updated
    await renameSource(trx, caller.client, oldPlace, { schema, name: after.view_name })
    await moveDescriptions(trx, before, after)
    request.audit(after.uid, { before: redactSecrets(before), after: redactSecrets(after) })
    return after
  }).catch((error: unknown) => {
    if (error instanceof ConcurrentChange) return undefined
    throw error
  })
}

class ConcurrentChange extends Error {}

/** Runs `callback` in a slot of the organisation. Aborts it when the caller disconnects. */
function runInSlot<T>({ request, caller }: SaveContext, callback: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const onTimeout = (): never => {
    throw problems.refused(
      '/query',
      `The view was not saved, because its query took longer than ${saveTimeoutMs / 1000} seconds. Simplify the query.`,
    )
  }
  const queue = requestSlots.views.queueOf(caller.client)
  return runWhileConnected({ request, queue, timeoutMs: saveTimeoutMs, onTimeout }, callback)
}

const inTransaction = <T>(db: Kysely<DB>, read: (trx: Transaction<DB>) => Promise<T>): Promise<T> =>
  db.transaction().execute(read)

export async function findViewPlace(db: Kysely<DB>, { schema_id, view_name }: ViewRow): Promise<TablePlace> {
  const { schema_name } = await db
    .selectFrom('schemas')
    .select('schema_name')
    .where('id', '=', schema_id)
    .executeTakeFirstOrThrow()
  return { schema: schema_name, name: view_name }
}

/** Throws 409 while a run builds the view, because that run uses the definition from its start. */
async function assertNotRunning(db: Kysely<DB>, { id }: ViewRow): Promise<void> {
  const running = await db
    .selectFrom('runs')
    .select('uid')
    .where('runnable_id', '=', id)
    .where('state', '=', 'RUNNING')
    .executeTakeFirst()
  if (running)
    throw problems.conflict(
      '/query',
      'This view is being run. Wait for the end of the run or cancel it, then change the view.',
    )
}

interface BuiltView extends ViewSaveResult {
  startedAt: Date
}

/** Creates or changes the view in the warehouse. `startedAt` is the time from which its rows are current. */
async function buildView(
  input: SaveContext,
  view: DefiningColumns,
  schema: string,
  signal: AbortSignal,
): Promise<BuiltView> {
  const { db, warehouses } = input
  const startedAt = new Date()
  const warehouse = await warehouses.open(view.client)
  const { uid: id, view_name: name, query, materialized } = view
  await dropLeftover(db, warehouse, { client: view.client, schema, table: name })
  return { ...(await defineManagedView(db, warehouse, { id, schema, name, query, materialized }, signal)), startedAt }
}

/**
 * Stores the state of the view in the warehouse, and returns the updated row. If the warehouse could not create the
 * view, stores only the reason. Otherwise queues runs of the views that wait for this one, and a run of this view if it
 * still has to be filled.
 */
async function recordBuiltView(
  trx: Transaction<DB>,
  { queue, caller }: SaveContext,
  row: ViewRow,
  { reads, needsFill, startedAt, pending }: BuiltView,
): Promise<ViewRow> {
  await storePendingReason(trx, row.id, pending ?? null)
  if (pending !== undefined) return { ...row, pending }
  await queuePendingViews(trx, queue, row.client, row.view_name)
  if (reads) await storeViewSources(trx, row.id, reads)
  if (needsFill) {
    const runnable = { id: row.id, client: row.client, kind: 'VIEW' as const }
    await startRun(trx, queue, runnable, { trigger: 'MANUAL', createdBy: caller.uid })
    return { ...row, pending: null }
  }
  await trx.updateTable('views').set({ filled_at: startedAt }).where('id', '=', row.id).execute()
  return { ...row, filled_at: startedAt, pending: null }
}

/**
 * Runs `save` after a view was built. If `save` throws, or returns undefined because another request changed the view,
 * undoes the build.
 */
async function undoBuildOnFailure<T>(
  input: SaveContext,
  view: DefiningColumns,
  place: TablePlace,
  save: () => Promise<T>,
): Promise<T> {
  const undo = () =>
    undoBuild(input, view, place).catch((error: unknown) =>
      input.logger.warn({ err: error, view: view.uid }, 'a view that was not saved remains in the warehouse'),
    )
  try {
    const saved = await save()
    if (saved === undefined) await undo()
    return saved
  } catch (error) {
    await undo()
    throw error
  }
}

/**
 * Undoes the build of a view that was not saved: creates the stored view with this id, or otherwise the stored view
 * with this name, in the warehouse again. If neither is stored, drops the built view.
 */
async function undoBuild(
  { db, warehouses }: SaveContext,
  { uid, client }: DefiningColumns,
  place: TablePlace,
): Promise<void> {
  const warehouse = await warehouses.open(client)
  const stored = await db
    .selectFrom('views')
    .innerJoin('schemas', 'schemas.id', 'views.schema_id')
    .select(['views.uid as id', 'schemas.schema_name as schema', 'views.view_name as name'])
    .select(['views.query', 'views.materialized'])
    .where('views.client', '=', client)
    .where((eb) =>
      eb.or([
        eb('views.uid', '=', uid),
        eb.and([eb('schemas.schema_name', '=', place.schema), eb('views.view_name', '=', place.name)]),
      ]),
    )
    // The view with this id comes first.
    .orderBy((eb) => eb.case().when('views.uid', '=', uid).then(0).else(1).end())
    .executeTakeFirst()
  if (stored) {
    await defineManagedView(db, warehouse, stored)
    return
  }
  const viewInPlace = await warehouse.views.find(place.schema, place.name)
  const isBuiltView = viewInPlace?.managed?.id === uid
  if (isBuiltView) await warehouse.views.drop(place.schema, place.name)
}

/**
 * Saves views without waiting for the warehouse. A run later creates or changes each view that has a new definition.
 * Until then, a new view is pending, and a changed view keeps its previous definition in the warehouse.
 */
const deferredViewWriting: BulkSaveDefinition<ViewRow, ViewBody>['writing'] = {
  check: checkView,

  async columns(trx, body, current, input) {
    return (await toViewColumns(trx, body, current, input)).columns
  },

  async writeRelatedRows(trx: Transaction<DB>, row, _body, current, { queue, caller }) {
    const isUnchanged = current !== undefined && isSameDefinition(current, row)
    if (isUnchanged && current.pending === null) return {}
    if (current && !isUnchanged) {
      await assertNotRunning(trx, current)
      const [oldPlace, newPlace] = [await findViewPlace(trx, current), await findViewPlace(trx, row)]
      await assertOldNameUnused(trx, caller, current, oldPlace, newPlace)
      await renameSource(trx, row.client, oldPlace, newPlace)
      await moveDescriptions(trx, current, row)
    }
    if (!current)
      await storePendingReason(
        trx,
        row.id,
        'The view is saved. Saving it started a run, which creates it in the warehouse.',
      )
    const runnable = { id: row.id, client: row.client, kind: 'VIEW' as const }
    const { run } = await startRun(trx, queue, runnable, { trigger: 'MANUAL', createdBy: caller.uid })
    return { run: run.uid }
  },
}

const isSameDefinition = (before: ViewRow, after: ViewRow): boolean =>
  (['schema_id', 'view_name', 'query', 'materialized'] as const).every((column) => before[column] === after[column])

export const viewBulkSave: BulkSaveDefinition<ViewRow, ViewBody> = {
  records: viewRecords,
  writing: deferredViewWriting,
  present: ({ relatedFields }) => ({ pending: 'run' in relatedFields }),
}

type DeleteRequest = OperationInput<PipelineContext, '/views/:uid', undefined, undefined>

/** Deletes a view. Drops it in the warehouse now if possible; otherwise a worker drops it later. */
export async function deleteView(input: DeleteRequest): Promise<undefined> {
  const { caller, params, request, write, db } = input
  // Query the warehouse before the transaction, because a transaction must not wait for a warehouse.
  const currentRow = await viewRecords.readToWrite(db, caller, params.uid, request.ifMatch)
  const externalViews = await listExternalViews(input, currentRow, await findViewPlace(db, currentRow))
  const row = await write(async (trx) => {
    const locked = await viewRecords.lock(trx, caller, params.uid, request.ifMatch)
    const place = await findViewPlace(trx, locked)
    const object = { kind: 'VIEW', id: locked.id, client: locked.client, relation: place } as const
    await prepareDeletion(trx, caller, object, externalViews)
    await recordDrop(trx, { client: locked.client, schema: place.schema, table: place.name })
    await viewRecords.remove(trx, locked)
    request.audit(locked.uid, { before: redactSecrets(locked) })
    return locked
  })
  await dropDeletedTables(input, row.client, { view: row.uid })
  return undefined
}

/**
 * Lists the views that users created in the warehouse on top of this view. Returns none while the warehouse is
 * unavailable; the drop then fails if there are any.
 */
async function listExternalViews(
  { warehouses }: DeleteRequest,
  { client }: ViewRow,
  { schema, name }: TablePlace,
): Promise<string[]> {
  const warehouse = await warehouses.find(client)
  return (await warehouse?.views.listUnmanagedReaders(schema, name).catch(() => [])) ?? []
}
