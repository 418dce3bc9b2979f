import { randomUUID } from 'node:crypto'
import { type TableChange, WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { ClickHouseError, executeStatement, rowsOf } from '../protocol/http-client.ts'
import type { ProposedTable } from '../publication-ledger.ts'
import { databaseOf, qualifyName, runDatabase, runPrefix } from '../sql-identifiers.ts'
import { listPlainReaders, replaceView } from './replace-view.ts'
import { errorCodes, isCode } from '../map-server-errors.ts'
import { parseTableMetadata, readShape, type ViewMetadata } from '../table-shape.ts'

/**
 * The name prefix of views in a run's database. It must not change, because a newer version recreates such views too.
 */
const retiredViewPrefix = 'aside_'
/** The time limit for creating a view without rows, in seconds. */
const viewTimeoutSeconds = 60

/** True if these column changes of a table require recreating the views that read it. */
export const affectsViews = (changes: readonly TableChange[]): boolean =>
  changes.some(({ kind }) => kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED' || kind === 'COLUMN_DROPPED')

/**
 * Moves the views that read a table into the run's database before the table's columns change. A view keeps its
 * original column types, so it would truncate wider values. The views are missing until `recreateViews` runs. After a
 * crash, the process that completes the decision finds them in this database.
 */
export async function retireViews(access: ClientAccess, { schema, table, run, attempt }: ProposedTable): Promise<void> {
  const database = runDatabase(access.key, { run, attempt })
  for (const view of await listDependents(access, { schema, name: table })) {
    const [viewSchema, viewName] = view.at
    const qualifiedName = qualifyName(databaseOf({ key: access.key, schema: viewSchema }), viewName)
    const hiddenName = qualifyName(database, `${retiredViewPrefix}${randomUUID()}`)
    await executeStatement(access.service, `rename table ${qualifiedName} to ${hiddenName}`).catch((error: unknown) => {
      // Another process that applies the decision has moved the view, or a user has dropped it.
      if (!isCode(error, errorCodes.unknownTable)) throw error
    })
  }
}

/**
 * Returns the views that read the table, directly or through other views. A view comes before the views that it reads.
 */
async function listDependents(access: ClientAccess, place: { schema: string; name: string }): Promise<ViewMetadata[]> {
  const dependents = new Map<string, ViewMetadata>()
  const visit = async (dependency: { schema: string; name: string }) => {
    for (const view of await listPlainReaders(access, dependency)) {
      const key = JSON.stringify(view.at)
      if (dependents.has(key)) continue
      await visit({ schema: view.at[0], name: view.at[1] })
      dependents.set(key, view)
    }
  }
  await visit(place)
  return [...dependents.values()]
}

/**
 * Recreates the views that `retireViews` moved into the attempt's database, dependencies first. A view that the table
 * change makes invalid keeps its old definition, and queries of it fail. Leaves out views with a name that another
 * relation has taken; they are dropped with the database.
 */
export async function recreateViews(access: ClientAccess, attempt: { run: string; attempt: number }): Promise<void> {
  const database = runDatabase(access.key, attempt)
  let retiredViews = await listRetiredViews(access, database)
  while (retiredViews.length > 0) {
    const retiredPlaces = new Set(retiredViews.map(({ view }) => JSON.stringify(view.at)))
    const readyViews = retiredViews.filter(({ view }) =>
      view.reads.every((read) => !retiredPlaces.has(JSON.stringify(read))),
    )
    // If no view is ready, the stored dependencies form a cycle. Then all views are tried in any order.
    for (const { name, view } of readyViews.length > 0 ? readyViews : retiredViews)
      await recreateView(access, qualifyName(database, name), view)
    const remainingViews = await listRetiredViews(access, database)
    const hasProgress = remainingViews.length < retiredViews.length
    if (!hasProgress) return
    retiredViews = remainingViews
  }
}

/**
 * Recreates a view and drops the retired one, which is stored under the name `hiddenName`. If the view is invalid now,
 * the retired one gets its name back, unless another relation has it. Throws errors that a retry can solve.
 */
async function recreateView(access: ClientAccess, hiddenName: string, view: ViewMetadata): Promise<void> {
  try {
    await replaceView(access, view, { seconds: viewTimeoutSeconds }, AbortSignal.timeout(viewTimeoutSeconds * 2_000))
    await executeStatement(access.service, `drop table if exists ${hiddenName}`)
  } catch (error) {
    const isInvalid = error instanceof ClickHouseError || (error instanceof WarehouseProblem && !error.retryable)
    if (!isInvalid) throw error
    const [schema, name] = view.at
    const database = databaseOf({ key: access.key, schema })
    const isNameFree = (await readShape(access.service, database, name)) === undefined
    if (isNameFree)
      await executeStatement(access.service, `rename table ${hiddenName} to ${qualifyName(database, name)}`)
  }
}

/** Lists the views that `retireViews` moved into this database, with the metadata in their comments. */
async function listRetiredViews(
  access: ClientAccess,
  database: string,
): Promise<{ name: string; view: ViewMetadata }[]> {
  const rows = await rowsOf<{ name: string; comment: string }>(
    access.service,
    `select name, comment from system.tables
     where database = {database:String} and startsWith(database, {run:String}) and startsWith(name, {retired:String})`,
    { parameters: { database, run: runPrefix(access.key), retired: retiredViewPrefix } },
  )
  return rows.flatMap(({ name, comment }) => {
    const view = parseTableMetadata(comment)?.view
    return view ? [{ name, view }] : []
  })
}
