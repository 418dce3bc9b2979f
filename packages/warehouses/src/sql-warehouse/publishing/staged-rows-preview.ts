import { defaultQuerySeconds } from '../../query-limits.ts'
import type { TablePlace } from '../../catalog.ts'
import type { OldRows, ReadyTable, StagedRowsPreview, UserQuery } from '../../warehouse.ts'
import { listManagedViews, listReads } from '../views/dependent-views.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import { deleteMetadata, setMetadata } from '../publication-ledger.ts'
import { buildMergeQuery } from './merge-increments.ts'
import { toWarehouseProblem, queryProblemOf } from '../map-server-errors.ts'
import { prepareQuery } from '../sql-queries.ts'
import { withSession, findRelation, hiddenSchemaName, placeKey, readShape, quotePlace } from '../table-shape.ts'

/** Milliseconds after which a maintenance sweep drops the preview of a dead process. */
const previewLifetimeMs = 86_400_000

/**
 * See `Loader.exposeStagedRows`. Creates a hidden schema with one view per table, which shows the rows that are about
 * to be published.
 */
export async function exposeStagedRows(
  dialect: SqlDialect,
  tables: readonly ReadyTable[],
  attempt: { run: string; attempt: number },
): Promise<StagedRowsPreview> {
  const schema = hiddenSchemaName('shown', attempt, tables)
  const qualifiedName = quotePlace({ schema: tables[0]!.schema, name: tables[0]!.table })
  const runAsService = <Result>(callback: (session: SqlSession) => Promise<Result>) =>
    withSession(dialect, { role: 'service' }, callback).catch((error: unknown) => {
      throw toWarehouseProblem(dialect, error, qualifiedName)
    })
  try {
    await runAsService(async (session) => {
      await dropPreview(dialect, session, schema)
      for (const statement of dialect.changes.createSchema(schema)) await session.execute(statement)
      for (const table of tables) await createPreviewView(dialect, session, { schema, name: table.table }, table)
    })
  } catch (error) {
    await runAsService((session) => dropPreview(dialect, session, schema)).catch(() => {})
    throw error
  }
  return {
    schema,
    findOldRows: (query) => findOldRows(dialect, tables, query),
    [Symbol.asyncDispose]: () => runAsService((session) => dropPreview(dialect, session, schema)),
  }
}

/** Creates a view of the rows that the table will have after the publication, and stores its metadata. */
async function createPreviewView(
  dialect: SqlDialect,
  session: SqlSession,
  view: TablePlace,
  table: ReadyTable,
): Promise<void> {
  for (const statement of dialect.changes.createView(view, await buildPreviewQuery(dialect, session, table)))
    await session.execute(statement)
  const { id } = (await findRelation(dialect, session, view))!
  // A sweep drops a PASSING relation after this time, in case this process dies before it drops the preview.
  await setMetadata(dialect, session, id, { kind: 'PASSING', until: Date.now() + previewLifetimeMs })
}

/**
 * Returns a query for the rows that the table will have after the publication: the merged rows if the load merges into
 * an existing table, and the staged rows otherwise.
 */
async function buildPreviewQuery(
  dialect: SqlDialect,
  session: SqlSession,
  { schema, table, staging, merge }: ReadyTable,
): Promise<string> {
  const stagedRowsQuery = `select * from ${staging}`
  if (!merge) return stagedRowsQuery
  const currentShape = await readShape(dialect, session, { schema, name: table })
  const relations = await dialect.catalogue.relations(session, [schema])
  // `staging` is the quoted SQL name of the staging table.
  const stagingTable = relations.find((relation) => dialect.names.place(relation) === staging)
  if (!currentShape || !stagingTable) return stagedRowsQuery
  const columns = await dialect.catalogue.columns(session, stagingTable)
  const replaced = merge.columns ?? columns.map(({ name }) => name)
  const { keys, parents, deletedColumn } = merge
  return buildMergeQuery(dialect, { staging, columns, keys, replaced, currentShape, parents, deletedColumn })
}

/** Drops the preview's schema with its views and their metadata. Does nothing if the schema does not exist. */
async function dropPreview(dialect: SqlDialect, session: SqlSession, schema: string): Promise<void> {
  if (!(await dialect.catalogue.schemas(session)).includes(schema)) return
  for (const view of await dialect.catalogue.relations(session, [schema])) {
    await session.execute(dialect.changes.dropView(view))
    await deleteMetadata(dialect, session, view.id)
  }
  for (const statement of dialect.changes.dropSchema(schema)) await session.execute(statement)
}

/**
 * See `StagedRowsPreview.findOldRows`. Finds a table of the run that the query names with its schema. Otherwise finds a
 * view that the query names and that reads such a table, directly or through other views.
 */
async function findOldRows(
  dialect: SqlDialect,
  tables: readonly ReadyTable[],
  query: UserQuery,
): Promise<OldRows | undefined> {
  const { reads } = await prepareQuery(dialect, query).catch((error: unknown) => {
    throw queryProblemOf(dialect, error, query, defaultQuerySeconds)
  })
  const isPublishedTable = (place: TablePlace) =>
    tables.some(({ schema, table }) => place.schema === schema && place.name === table)
  const publishedTable = reads.find(isPublishedTable)
  if (publishedTable) return { name: `${publishedTable.schema}.${publishedTable.name}`, view: false }
  const views = await withSession(dialect, { role: 'service' }, (session) => listManagedViews(dialect, session))
  const readsByView = new Map(views.map((view) => [placeKey(view), listReads(view)]))
  const oldView = reads.find((read) => listIndirectReads(readsByView, read).some(isPublishedTable))
  return oldView && { name: `${oldView.schema}.${oldView.name}`, view: true }
}

/** Returns the tables and views that a view reads, directly or through other views. Returns none for a table. */
function listIndirectReads(readsByView: ReadonlyMap<string, readonly TablePlace[]>, view: TablePlace): TablePlace[] {
  const readsByKey = new Map<string, TablePlace>()
  const addReads = (place: TablePlace) => {
    for (const read of readsByView.get(placeKey(place)) ?? []) {
      if (readsByKey.has(placeKey(read))) continue
      readsByKey.set(placeKey(read), read)
      addReads(read)
    }
  }
  addReads(view)
  return [...readsByKey.values()]
}
