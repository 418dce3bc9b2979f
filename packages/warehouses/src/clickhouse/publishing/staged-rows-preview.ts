import { createHash } from 'node:crypto'
import type { TablePlace } from '../../catalog.ts'
import type { OldRows, ReadyTable, StagedRowsPreview, UserQuery } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../protocol/http-client.ts'
import { buildMergeQuery } from './merge-increments.ts'
import {
  databaseOf,
  formatLiteral,
  qualifyName,
  quoteIdentifier,
  runDatabase,
  schemaPrefix,
  quotePlace,
  shownPrefix,
} from '../sql-identifiers.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { prepareQuery } from '../clickhouse-queries.ts'
import { parseTableMetadata, readShape } from '../table-shape.ts'

/**
 * See `Loader.exposeStagedRows`. Creates a database with one view per table, which shows the rows that are about to be
 * published.
 */
export async function exposeStagedRows(
  access: ClientAccess,
  tables: readonly ReadyTable[],
  attempt: { run: string; attempt: number },
): Promise<StagedRowsPreview> {
  const hash = createHash('sha256')
    .update(JSON.stringify([attempt, tables]))
    .digest('hex')
    .slice(0, 16)
  const database = `${shownPrefix(access.key)}${hash}`
  const drop = () => executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`)
  const qualifiedName = quotePlace(tables[0]!.schema, tables[0]!.table)
  try {
    await drop()
    await executeStatement(
      access.service,
      `create database ${quoteIdentifier(database)} comment ${formatLiteral(JSON.stringify(attempt))}`,
    )
    // Creating a view may evaluate parts of its query, so it runs with the organisation's limited user.
    for (const table of tables)
      await executeStatement(
        access.load,
        `create view ${qualifyName(database, table.table)} sql security invoker as ${await buildPreviewQuery(access, table, attempt)}`,
      )
  } catch (error) {
    await drop().catch(() => {})
    throw warehouseProblem(error, qualifiedName)
  }
  return {
    schema: database,
    findOldRows: (query) => findOldRows(access, tables, query),
    async [Symbol.asyncDispose]() {
      await drop().catch((error: unknown) => {
        throw warehouseProblem(error, qualifiedName)
      })
    },
  }
}

/**
 * Returns a query for the rows that the table will have after the publication: the staged rows or, if a merge adds them
 * to a published table (`merge`), both.
 */
async function buildPreviewQuery(
  access: ClientAccess,
  { schema, table, staging, merge }: ReadyTable,
  attempt: { run: string; attempt: number },
): Promise<string> {
  const stagedRowsQuery = `select * from ${staging}`
  if (!merge) return stagedRowsQuery
  const currentShape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
  if (!currentShape) return stagedRowsQuery
  const stagingShape = (await readShape(access.service, runDatabase(access.key, attempt), table))!
  const { columns } = stagingShape
  const { keys, parents, deletedColumn, columns: replacedColumns = columns.map(({ name }) => name) } = merge
  return buildMergeQuery({ staging, columns, keys, replacedColumns, currentShape, parents, deletedColumn })
}

/**
 * See `StagedRowsPreview.findOldRows`. Finds a table of the run that the query names with its schema. Otherwise finds a
 * view that the query names and that reads such a table, directly or through other views.
 */
async function findOldRows(
  access: ClientAccess,
  tables: readonly ReadyTable[],
  query: UserQuery,
): Promise<OldRows | undefined> {
  const { reads } = await prepareQuery(access, query)
  const isPublishedTable = (place: TablePlace) =>
    tables.some(({ schema, table }) => place.schema === schema && place.name === table)
  const publishedTable = reads.find(isPublishedTable)
  if (publishedTable) return { name: `${publishedTable.schema}.${publishedTable.name}`, view: false }
  const readsByView = await mapViewReads(access)
  for (const view of reads) {
    const visitedKeys = new Set<string>()
    const readsPublishedTable = (place: TablePlace): boolean => {
      const key = placeKey(place)
      if (visitedKeys.has(key)) return false
      visitedKeys.add(key)
      return (readsByView.get(key) ?? []).some((read) => isPublishedTable(read) || readsPublishedTable(read))
    }
    if (readsPublishedTable(view)) return { name: `${view.schema}.${view.name}`, view: true }
  }
  return undefined
}

/** Lists the managed views, each with the tables and views that it reads directly. */
export async function listManagedViews({
  key,
  service,
}: ClientAccess): Promise<{ view: TablePlace; reads: TablePlace[] }[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    service,
    'select database, name, comment from system.tables where startsWith(database, {prefix:String})',
    { parameters: { prefix } },
  )
  return rows.flatMap(({ database, name, comment }) => {
    const reads = parseTableMetadata(comment)?.view?.reads
    if (!reads) return []
    return [
      {
        view: { schema: database.slice(prefix.length), name },
        reads: reads.map(([schema, readName]) => ({ schema, name: readName })),
      },
    ]
  })
}

/** Returns the tables and views that each managed view reads directly, by the view's `placeKey`. */
export async function mapViewReads(access: ClientAccess): Promise<Map<string, TablePlace[]>> {
  return new Map((await listManagedViews(access)).map(({ view, reads }) => [placeKey(view), reads]))
}

/** Returns a text that is different for each schema and name, as a key of maps and sets. */
export const placeKey = ({ schema, name }: TablePlace): string => JSON.stringify([schema, name])
