import type { TablePlace } from '../catalog.ts'
import {
  type DefinedView,
  definitionHash,
  type ViewDefinition,
  type ViewStore,
  type WarehouseView,
} from '../view-store.ts'
import { WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'
import { executeStatement, rowsOf } from './protocol/http-client.ts'
import {
  checkSchemaName,
  checkTableName,
  databaseOf,
  qualifyName,
  schemaPrefix,
  quotePlace,
} from './sql-identifiers.ts'
import { warehouseProblem, queryProblem } from './map-server-errors.ts'
import { replaceView, viewNameTaken } from './views/replace-view.ts'
import { prepareQuery } from './clickhouse-queries.ts'
import { listManagedViews, mapViewReads, placeKey } from './publishing/staged-rows-preview.ts'
import { type ClickHouseShape, describeTable, parseTableMetadata, readShape, type ViewMetadata } from './table-shape.ts'

/** The time limit in seconds for filling a view. */
const refreshTimeoutSeconds = 7_200

/** Returns the functions that create, refresh, find and drop the views of a ClickHouse warehouse. */
export function clickHouseViews({ access, runOnServer, quoteAllowedName }: ClickHouseServer): ViewStore {
  return {
    define: (view, limits, signal) => runOnServer('the warehouse', () => defineView(access, view, limits, signal)),
    drop: async (schema, name) => runOnServer(quoteAllowedName(schema, name), () => dropView(access, schema, name)),
    refresh: async (schema, name, signal) =>
      runOnServer(quoteAllowedName(schema, name), () => refreshView(access, schema, name, signal)),
    find: async (schema, name) => runOnServer(quoteAllowedName(schema, name), () => findView(access, schema, name)),
    listReads: async (schema, name) =>
      runOnServer(
        quoteAllowedName(schema, name),
        async () => (await mapViewReads(access)).get(placeKey({ schema, name })) ?? [],
      ),
    isManaged: (id) => runOnServer('the warehouse', async () => (await findManagedViews(access, id)).length > 0),
    listUnmanagedReaders: async (schema, name) =>
      runOnServer(quoteAllowedName(schema, name), () => listUnmanagedViews(access, { schema, name })),
  }
}

/**
 * See `ViewStore.define`. Creates or replaces the view, and drops it under previous names. Returns the tables and views
 * that it reads.
 */
async function defineView(
  access: ClientAccess,
  view: ViewDefinition,
  { seconds, empty = false }: { seconds: number; empty?: boolean },
  signal: AbortSignal,
): Promise<DefinedView> {
  checkSchemaName(view.schema)
  checkTableName(view.name)
  const qualifiedName = quotePlace(view.schema, view.name)
  const userQuery = { text: view.query, schemas: [view.schema] }
  try {
    const previousPlaces = await findManagedViews(access, view.id)
    const existingShape = await readShape(
      access.service,
      databaseOf({ key: access.key, schema: view.schema }),
      view.name,
    )
    if (existingShape) {
      const existingView = existingShape.metadata?.view
      const isSameView = existingView?.id === view.id
      const mayTakeOver = view.takesOver && existingView !== undefined && previousPlaces.length === 0
      if (!isSameView && !mayTakeOver) throw viewNameTaken(view.schema, view.name)
    }
    const { text, reads } = await prepareQuery(access, userQuery, { qualifiesAllTables: true })
    await assertNoCycle(access, view, reads)
    const metadata: ViewMetadata = {
      id: view.id,
      definition: definitionHash(view),
      materialized: view.materialized,
      populated: view.materialized && !empty,
      reads: reads.map(({ schema, name }) => [schema, name]),
      at: [view.schema, view.name],
      query: text,
    }
    await replaceView(access, metadata, { seconds, empty }, signal)
    const otherPlaces = previousPlaces.filter(({ schema, name }) => schema !== view.schema || name !== view.name)
    for (const place of otherPlaces) await dropTableAt(access, place)
    return { reads }
  } catch (error) {
    if (signal.aborted)
      throw viewProblem(
        'QUERY_TIMEOUT',
        `${qualifiedName} took longer than ${seconds} seconds to build, so it was stopped and the view is unchanged. Select fewer rows or simplify the query.`,
      )
    throw queryProblem(error, userQuery, seconds)
  }
}

/**
 * Throws VIEW_READS_ITSELF if the view would read itself, directly or through other views. `reads` are the tables and
 * views in its new query.
 */
async function assertNoCycle(access: ClientAccess, view: TablePlace, reads: readonly TablePlace[]): Promise<void> {
  const readsByView = await mapViewReads(access)
  const visitedKeys = new Set<string>()
  const readsThisView = (place: TablePlace): boolean => {
    const key = placeKey(place)
    if (key === placeKey(view)) return true
    if (visitedKeys.has(key)) return false
    visitedKeys.add(key)
    return (readsByView.get(key) ?? []).some(readsThisView)
  }
  if (reads.some(readsThisView))
    throw viewProblem(
      'VIEW_READS_ITSELF',
      `${quotePlace(view.schema, view.name)} would read itself, directly or through other views. Remove the reference to it.`,
    )
}

/**
 * Returns the names of the views with this id: none, one or, during a rename, the old and the new name. The query only
 * searches the comments for the id, so its rows are checked again.
 */
async function findManagedViews({ key, service }: ClientAccess, id: string): Promise<TablePlace[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    service,
    `select database, name, comment from system.tables
     where startsWith(database, {prefix:String}) and position(comment, {id:String}) > 0`,
    { parameters: { prefix, id } },
  )
  return rows
    .filter(({ comment }) => parseTableMetadata(comment)?.view?.id === id)
    .map(({ database, name }) => ({ schema: database.slice(prefix.length), name }))
}

/** Returns the view of this name, or undefined if none exists or the relation is a table. */
async function findView(access: ClientAccess, schema: string, name: string): Promise<WarehouseView | undefined> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return shape && isView(shape) ? describeView(access, schema, shape) : undefined
}

const isView = (shape: ClickHouseShape): boolean => shape.metadata?.view !== undefined || shape.engine.endsWith('View')

async function describeView(access: ClientAccess, schema: string, shape: ClickHouseShape): Promise<WarehouseView> {
  const metadata = shape.metadata?.view
  return {
    ...(await describeTable(access, schema, shape)),
    materialized: metadata?.materialized ?? false,
    populated: metadata?.materialized ? metadata.populated : true,
    ...(metadata && { managed: { id: metadata.id, definition: metadata.definition } }),
  }
}

/** Fills a new table with the view's rows and swaps it in. Readers see the old rows until then. */
async function refreshView(
  access: ClientAccess,
  schema: string,
  name: string,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  const qualifiedName = quotePlace(schema, name)
  try {
    const database = databaseOf({ key: access.key, schema })
    const metadata = (await readShape(access.service, database, name))?.metadata?.view
    if (!metadata?.materialized)
      throw viewProblem(
        'VIEW_MISSING',
        `The materialised view ${qualifiedName} does not exist in the warehouse. Save the view again to create it.`,
      )
    await replaceView(access, { ...metadata, populated: true }, { seconds: refreshTimeoutSeconds }, signal)
    const filledShape = await readShape(access.service, database, name)
    return { rows: filledShape?.rows ?? 0, bytes: filledShape?.bytes ?? 0 }
  } catch (error) {
    signal.throwIfAborted()
    // No position in the query is reported, because its text is not what the user wrote.
    const problem = queryProblem(error, { text: '' }, refreshTimeoutSeconds)
    throw warehouseProblem(problem, qualifiedName)
  }
}

/** Drops a view. Does nothing if the relation is not a view. Throws VIEWS_DEPEND if another view reads it. */
async function dropView(access: ClientAccess, schema: string, name: string): Promise<void> {
  const qualifiedName = quotePlace(schema, name)
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  if (!shape || !isView(shape)) return
  await assertUnread(access, { schema, name }, qualifiedName)
  await dropTableAt(access, { schema, name })
}

/** Throws VIEWS_DEPEND if a managed or an unmanaged view reads the table or view. */
export async function assertUnread(
  access: ClientAccess,
  { schema, name }: TablePlace,
  qualifiedName: string,
): Promise<void> {
  const managedViews = (await listManagedViews(access))
    .filter(({ reads }) => reads.some((read) => read.schema === schema && read.name === name))
    .map(({ view }) => `${view.schema}.${view.name}`)
    .filter((view) => view !== `${schema}.${name}`)
  const unmanagedViews = await listUnmanagedViews(access, { schema, name })
  const readerNames = [...new Set([...managedViews, ...unmanagedViews])]
  if (readerNames.length > 0)
    throw viewProblem(
      'VIEWS_DEPEND',
      `${qualifiedName} is still in use: ${readerNames.join(', ')} read it. Drop these views first.`,
    )
}

/** Drops the table or view of this name. ClickHouse has one statement for both. */
const dropTableAt = ({ key, service }: ClientAccess, { schema, name }: TablePlace) =>
  executeStatement(service, `drop table if exists ${qualifyName(databaseOf({ key, schema }), name)}`)

/**
 * Returns the views that users created by hand and that read the table or view, as `schema.name`. They have no
 * metadata of Sluice, so this searches their SQL for its name.
 */
async function listUnmanagedViews({ key, service }: ClientAccess, { schema, name }: TablePlace): Promise<string[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    service,
    `select database, name, comment from system.tables
     where startsWith(database, {prefix:String}) and engine like '%View'
       and (position(as_select, {plain:String}) > 0 or position(as_select, {quoted:String}) > 0)`,
    {
      parameters: {
        prefix,
        plain: `${databaseOf({ key, schema })}.${name}`,
        quoted: qualifyName(databaseOf({ key, schema }), name),
      },
    },
  )
  return rows
    .filter(({ comment }) => parseTableMetadata(comment) === undefined)
    .map((row) => `${row.database.slice(prefix.length)}.${row.name}`)
}

const viewProblem = (code: string, sentence: string) => new WarehouseProblem(code, sentence)
