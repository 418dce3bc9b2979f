import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import type { TablePlace } from '../catalog.ts'
import {
  type DefinedView,
  definitionHash,
  type ViewDefinition,
  type ViewStore,
  type WarehouseView,
} from '../view-store.ts'
import { type UserQuery, WarehouseProblem } from '../warehouse.ts'
import type { SqlSessions } from './sql-sessions.ts'
import { type ManagedView, listManagedViews, listReads } from './views/dependent-views.ts'
import type { SqlDialect, SqlSession } from './sql-dialect.ts'
import { readMetadata, type ViewMetadata } from './publication-ledger.ts'
import {
  replaceByDecision,
  assertViewCompiles,
  createFilledTable,
  dropRelation,
  type ViewLimits,
  type ViewReplacement,
  replaceInTransaction,
} from './views/replace-view.ts'
import { queryProblemOf } from './map-server-errors.ts'
import { prepareQuery } from './sql-queries.ts'
import { withPublishLock, recoverPending } from './publication-recovery.ts'
import {
  checkName,
  describeTable,
  findRelation,
  quotePlace,
  readShape,
  type TableShape,
  withSession,
} from './table-shape.ts'

/** The time limit for filling a view, in seconds. */
const refreshTimeoutSeconds = 7_200

const isSamePlace = (one: TablePlace, other: TablePlace): boolean =>
  one.schema === other.schema && one.name === other.name
/** Replaces a view by the mechanism of the server. */
const replaceView = (dialect: SqlDialect, replacement: ViewReplacement): Promise<void> =>
  dialect.publication === 'NON_TRANSACTIONAL'
    ? replaceByDecision(dialect, replacement)
    : replaceInTransaction(dialect, replacement)
const viewProblem = (code: string, sentence: string) => new WarehouseProblem(code, sentence)

export function sqlViews({ dialect, runOnServer, withServiceSession, parsePlace, withTable }: SqlSessions): ViewStore {
  return {
    define: (view, limits, signal) => runOnServer('the warehouse', () => defineView(dialect, view, limits, signal)),
    async drop(schema, name) {
      const place = parsePlace(schema, name)
      await runOnServer(quotePlace(place), () => dropView(dialect, place))
    },
    async refresh(schema, name, signal) {
      const place = parsePlace(schema, name)
      return runOnServer(quotePlace(place), () => refreshView(dialect, place, signal))
    },
    find: (schema, name) => withTable(schema, name, (session, place) => findView(dialect, session, place)),
    listReads: (schema, name) =>
      withTable(schema, name, async (session, place) => {
        const view = (await listManagedViews(dialect, session)).find((managedView) => isSamePlace(managedView, place))
        return view ? listReads(view) : []
      }),
    isManaged: (id) =>
      withServiceSession('the warehouse', async (session) =>
        (await listManagedViews(dialect, session)).some(({ metadata }) => metadata.view.id === id),
      ),
    listUnmanagedReaders: (schema, name) =>
      withTable(schema, name, (session, place) => listUnmanagedViews(dialect, session, place)),
  }
}

/**
 * See `ViewStore.define`. Creates or replaces the view, and drops it under previous names. Returns the tables and views
 * that it reads.
 */
async function defineView(
  dialect: SqlDialect,
  view: ViewDefinition,
  limits: ViewLimits,
  signal: AbortSignal,
): Promise<DefinedView> {
  checkName(dialect, 'schema', view.schema)
  checkName(dialect, 'table', view.name)
  const { seconds } = limits
  const userQuery: UserQuery = { text: view.query, schemas: [view.schema] }
  const place = { schema: view.schema, name: view.name }
  try {
    const [managedViews, existing] = await withSession(dialect, { role: 'service', signal }, async (session) => {
      await recoverPending(dialect, session)
      return [await listManagedViews(dialect, session), await readShape(dialect, session, place)] as const
    })
    const previousViews = managedViews.filter(({ metadata }) => metadata.view.id === view.id)
    if (existing) assertReplaceable(existing, view, { isNewView: previousViews.length === 0 })
    const { text, reads } = await prepareQuery(dialect, userQuery)
    assertNoCycle(managedViews, place, reads)
    const metadata = createViewMetadata(view, text, reads, limits)
    await assertViewCompiles(dialect, place, text, limits, signal)
    const newView = view.materialized ? await createFilledTable(dialect, place, metadata, limits, signal) : metadata
    signal.throwIfAborted()
    const replaced = await withSession(dialect, { role: 'service' }, (session) =>
      findViewsAt(dialect, session, [...previousViews, place]),
    )
    await replaceView(dialect, { place, replaced, newView })
    return { reads }
  } catch (error) {
    if (signal.aborted)
      throw viewProblem(
        'QUERY_TIMEOUT',
        `${quotePlace(place)} took longer than ${seconds} seconds to build, so it was stopped and the view is unchanged. Select fewer rows or simplify the query.`,
      )
    throw queryProblemOf(dialect, error, userQuery, seconds)
  }
}

/**
 * Throws VIEW_NAME_TAKEN if the view may not replace the existing relation with its name. It may replace itself. With
 * `takesOver`, a new view may also replace another managed view.
 */
function assertReplaceable(
  existing: TableShape,
  { id, schema, name, takesOver }: ViewDefinition,
  { isNewView }: { isNewView: boolean },
): void {
  const existingView = existing.metadata?.view
  const isSameView = existingView?.id === id
  const mayTakeOver = takesOver && isNewView && existingView !== undefined
  if (isSameView || mayTakeOver) return
  throw viewProblem(
    'VIEW_NAME_TAKEN',
    `${quotePlace({ schema, name })} already exists. Choose another name for the view.`,
  )
}

/** Returns the ledger's data about a view. `query` is the view's query in the server's syntax. */
function createViewMetadata(
  view: ViewDefinition,
  query: string,
  reads: readonly TablePlace[],
  { empty = false }: ViewLimits,
): ViewMetadata {
  return {
    id: view.id,
    definition: definitionHash(view),
    materialized: view.materialized,
    populated: view.materialized && !empty,
    reads: reads.map(({ schema, name }) => [schema, name]),
    query,
    asked: trimStatementEnd(view.query),
  }
}

/** Returns the managed views with these names, without duplicates. Skips other relations. */
async function findViewsAt(
  dialect: SqlDialect,
  session: SqlSession,
  places: readonly TablePlace[],
): Promise<TableShape[]> {
  const viewShapes = new Map<string, TableShape>()
  for (const place of places) {
    const shape = await readShape(dialect, session, place)
    if (shape?.metadata?.view) viewShapes.set(shape.id, shape)
  }
  return [...viewShapes.values()]
}

/**
 * Throws VIEW_READS_ITSELF if the view would read itself, directly or through other views. `managedViews` are all
 * managed views; `reads` are the tables and views in its new query.
 */
function assertNoCycle(managedViews: readonly ManagedView[], view: TablePlace, reads: readonly TablePlace[]): void {
  const visitedViews = new Set<ManagedView>()
  const readsThisView = (place: TablePlace): boolean => {
    if (isSamePlace(place, view)) return true
    const viewAtPlace = managedViews.find((managedView) => isSamePlace(managedView, place))
    if (!viewAtPlace || visitedViews.has(viewAtPlace)) return false
    visitedViews.add(viewAtPlace)
    return listReads(viewAtPlace).some(readsThisView)
  }
  if (reads.some(readsThisView))
    throw viewProblem(
      'VIEW_READS_ITSELF',
      `${quotePlace(view)} would read itself, directly or through other views. Remove the reference to it.`,
    )
}

/** Returns the view of this name, or undefined if none exists or the relation is a table. */
async function findView(
  dialect: SqlDialect,
  session: SqlSession,
  place: TablePlace,
): Promise<WarehouseView | undefined> {
  const shape = await readShape(dialect, session, place)
  if (!shape) return undefined
  const metadata = shape.metadata?.view
  // A materialised view is a table, so only its metadata says that it is a view.
  const isView = shape.kind === 'VIEW' || metadata !== undefined
  if (!isView) return undefined
  return {
    ...(await describeTable(dialect, session, shape)),
    materialized: metadata?.materialized ?? false,
    populated: metadata?.materialized ? metadata.populated : true,
    ...(metadata && { managed: { id: metadata.id, definition: metadata.definition } }),
  }
}

/** Fills a new table with the view's rows and swaps it in. Readers see the old rows until then. */
async function refreshView(
  dialect: SqlDialect,
  place: TablePlace,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  try {
    const current = await withSession(dialect, { role: 'service', signal }, async (session) => {
      await recoverPending(dialect, session)
      return readShape(dialect, session, place)
    })
    const metadata = current?.metadata?.view
    if (!current || !metadata?.materialized)
      throw viewProblem(
        'VIEW_MISSING',
        `The materialised view ${quotePlace(place)} does not exist in the warehouse. Save the view again to create it.`,
      )
    const newView = await createFilledTable(
      dialect,
      place,
      { ...metadata, populated: true },
      { seconds: refreshTimeoutSeconds },
      signal,
    )
    signal.throwIfAborted()
    await replaceView(dialect, { place, replaced: [current], newView })
    return await withSession(dialect, { role: 'service' }, async (session) => ({
      rows: newView.metadata.rows ?? 0,
      bytes: await dialect.catalogue.bytes(session, { ...place, id: newView.id, kind: 'TABLE' }),
    }))
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblemOf(dialect, error, {}, refreshTimeoutSeconds)
  }
}

/** Drops a view. Does nothing if the relation is not a view. Throws VIEWS_DEPEND if another view reads it. */
async function dropView(dialect: SqlDialect, place: TablePlace): Promise<void> {
  await withPublishLock(dialect, async ({ tables, ledger }) => {
    const shape = await readShape(dialect, tables, place)
    if (!shape || !(shape.metadata?.view || shape.kind === 'VIEW')) return
    await assertNoViewReads(dialect, tables, place)
    await dropRelation(dialect, { tables, ledger }, shape)
  })
}

/** Throws VIEWS_DEPEND if a managed or an unmanaged view reads the table or view. */
export async function assertNoViewReads(dialect: SqlDialect, session: SqlSession, place: TablePlace): Promise<void> {
  const otherViews = (await listManagedViews(dialect, session)).filter((view) => !isSamePlace(view, place))
  const managedReaders = otherViews
    .filter((view) => listReads(view).some((read) => isSamePlace(read, place)))
    .map(({ schema, name }) => `${schema}.${name}`)
  const unmanagedReaders = await listUnmanagedViews(dialect, session, place)
  const readerNames = [...new Set([...managedReaders, ...unmanagedReaders])]
  if (readerNames.length > 0)
    throw viewProblem(
      'VIEWS_DEPEND',
      `${quotePlace(place)} is still in use: ${readerNames.join(', ')} read it. Drop these views first.`,
    )
}

/**
 * Returns the views that an operator created by hand and that read the table or view, as `schema.name`. The ledger
 * (Sluice's table of loads) has no entry for them. Empty if the server does not record dependencies.
 */
async function listUnmanagedViews(dialect: SqlDialect, session: SqlSession, place: TablePlace): Promise<string[]> {
  const relation = await findRelation(dialect, session, place)
  const readers = (relation && (await dialect.catalogue.readers?.(session, relation))) ?? []
  if (readers.length === 0) return []
  const metadataById = await readMetadata(dialect, session)
  return readers.filter(({ id }) => !metadataById.has(id)).map(({ schema, name }) => `${schema}.${name}`)
}
