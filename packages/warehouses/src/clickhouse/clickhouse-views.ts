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
import { executeStatement, rowsOf } from './protocol/http.ts'
import { checkSchemaName, checkTableName, databaseOf, qualifyName, schemaPrefix, quotePlace } from './names.ts'
import { warehouseProblem, queryProblem } from './problems.ts'
import { replaceView, viewNameTaken } from './views/replace-view.ts'
import { prepareQuery } from './clickhouse-queries.ts'
import { listViewReads } from './publishing/staged-rows-preview.ts'
import { type ClickHouseShape, describeTable, markIn, readShape, type ViewMark } from './table-shape.ts'

/** The time limit in seconds for filling a view. */
const refreshTimeoutSeconds = 7_200

export function clickHouseViews({ access, run, checkedPlace }: ClickHouseServer): ViewStore {
  return {
    define: (view, limits, signal) => run('the warehouse', () => defineView(access, view, limits, signal)),
    drop: async (schema, name) => run(checkedPlace(schema, name), () => dropView(access, schema, name)),
    refresh: async (schema, name, signal) =>
      run(checkedPlace(schema, name), () => refreshView(access, schema, name, signal)),
    find: async (schema, name) => run(checkedPlace(schema, name), () => findView(access, schema, name)),
    listReads: async (schema, name) =>
      run(
        checkedPlace(schema, name),
        async () => (await listViewReads(access)).get(JSON.stringify([schema, name])) ?? [],
      ),
    isManaged: (id) => run('the warehouse', async () => (await findManagedViews(access, id)).length > 0),
    listUnmanagedReaders: async (schema, name) =>
      run(checkedPlace(schema, name), () => listUnmanagedViews(access, { schema, name })),
  }
}

/** Creates or replaces a view and drops it under its previous name. Returns the tables that the view reads. */
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
    const ownViews = await findManagedViews(access, view.id)
    const existingShape = await readShape(
      access.service,
      databaseOf({ key: access.key, schema: view.schema }),
      view.name,
    )
    const isNameFree =
      !existingShape ||
      existingShape.mark?.view?.id === view.id ||
      (ownViews.length === 0 && view.takesOver && existingShape.mark?.view)
    if (!isNameFree) throw viewNameTaken(view.schema, view.name)
    const { text, reads } = await prepareQuery(access, userQuery, { whole: true })
    await assertNoCycle(access, view, reads)
    const mark: ViewMark = {
      id: view.id,
      definition: definitionHash(view),
      materialized: view.materialized,
      populated: view.materialized && !empty,
      reads: reads.map(({ schema, name }) => [schema, name]),
      at: [view.schema, view.name],
      query: text,
    }
    await replaceView(access, mark, { seconds, empty }, signal)
    const previousPlaces = ownViews.filter(({ schema, name }) => schema !== view.schema || name !== view.name)
    for (const oldPlace of previousPlaces) await dropAt(access, oldPlace)
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
  const readsByView = await listViewReads(access)
  const visitedKeys = new Set<string>()
  const readsThisView = ({ schema, name }: TablePlace): boolean => {
    if (schema === view.schema && name === view.name) return true
    const key = JSON.stringify([schema, name])
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

/** Finds the views with this id. Usually one; during a rename, both the old and the new view exist for a moment. */
async function findManagedViews({ key, service }: ClientAccess, id: string): Promise<TablePlace[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    service,
    `select database, name, comment from system.tables
     where startsWith(database, {prefix:String}) and position(comment, {id:String}) > 0`,
    { parameters: { prefix, id } },
  )
  return rows
    .filter(({ comment }) => markIn(comment)?.view?.id === id)
    .map(({ database, name }) => ({ schema: database.slice(prefix.length), name }))
}

async function findView(access: ClientAccess, schema: string, name: string): Promise<WarehouseView | undefined> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return shape && isView(shape) ? describeView(access, schema, shape) : undefined
}

const isView = (shape: ClickHouseShape): boolean => shape.mark?.view !== undefined || shape.engine.endsWith('View')

async function describeView(access: ClientAccess, schema: string, shape: ClickHouseShape): Promise<WarehouseView> {
  const mark = shape.mark?.view
  return {
    ...(await describeTable(access, schema, shape)),
    materialized: mark?.materialized ?? false,
    populated: mark?.materialized ? mark.populated : true,
    ...(mark && { managed: { id: mark.id, definition: mark.definition } }),
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
    const mark = (await readShape(access.service, database, name))?.mark?.view
    if (!mark?.materialized)
      throw viewProblem(
        'VIEW_MISSING',
        `The materialised view ${qualifiedName} does not exist in the warehouse. Save the view again to create it.`,
      )
    await replaceView(access, { ...mark, populated: true }, { seconds: refreshTimeoutSeconds }, signal)
    const filledShape = await readShape(access.service, database, name)
    return { rows: filledShape?.rows ?? 0, bytes: filledShape?.bytes ?? 0 }
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(queryProblem(error, { text: '' }, refreshTimeoutSeconds), qualifiedName)
  }
}

/** Drops a view. Does nothing if the relation is not a view. Throws VIEWS_DEPEND if another view reads it. */
async function dropView(access: ClientAccess, schema: string, name: string): Promise<void> {
  const qualifiedName = quotePlace(schema, name)
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  if (!shape || !isView(shape)) return
  await assertUnread(access, { schema, name }, qualifiedName)
  await dropAt(access, { schema, name })
}

/** Throws VIEWS_DEPEND if a view reads the table or view. */
export async function assertUnread(
  access: ClientAccess,
  { schema, name }: TablePlace,
  qualifiedName: string,
): Promise<void> {
  const readers = [...(await listViewReads(access))]
    .filter(([, reads]) => reads.some((read) => read.schema === schema && read.name === name))
    .map(([reader]) => (JSON.parse(reader) as string[]).join('.'))
    .filter((reader) => reader !== `${schema}.${name}`)
  const readerNames = [...new Set([...readers, ...(await listUnmanagedViews(access, { schema, name }))])]
  if (readerNames.length > 0)
    throw viewProblem(
      'VIEWS_DEPEND',
      `${qualifiedName} is still in use: ${readerNames.join(', ')} read it. Drop these views first.`,
    )
}

const dropAt = ({ key, service }: ClientAccess, { schema, name }: TablePlace) =>
  executeStatement(service, `drop table if exists ${qualifyName(databaseOf({ key, schema }), name)}`)

/** Lists the dependent views without Sluice's metadata, which users created by hand. */
async function listUnmanagedViews({ key, service }: ClientAccess, { schema, name }: TablePlace): Promise<string[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    service,
    `select database, name, comment from system.tables
     where startsWith(database, {prefix:String}) and engine like '%View' and hasAny(
       [{plain:String}, {quoted:String}], arrayFilter(x -> position(as_select, x) > 0, [{plain:String}, {quoted:String}]))`,
    {
      parameters: {
        prefix,
        plain: `${databaseOf({ key, schema })}.${name}`,
        quoted: qualifyName(databaseOf({ key, schema }), name),
      },
    },
  )
  return rows
    .filter(({ comment }) => markIn(comment) === undefined)
    .map((row) => `${row.database.slice(prefix.length)}.${row.name}`)
}

const viewProblem = (code: string, sentence: string) => new WarehouseProblem(code, sentence)
