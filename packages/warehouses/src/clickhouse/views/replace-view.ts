import { randomUUID } from 'node:crypto'
import type { TablePlace } from '../../catalog.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { ClickHouseError, executeStatement, rowsOf, stopAtServer } from '../protocol/http-client.ts'
import {
  databaseOf,
  formatLiteral,
  temporaryComment,
  qualifyName,
  quoteIdentifier,
  runPrefix,
  schemaPrefix,
  quotePlace,
} from '../sql-identifiers.ts'
import { errorCodes, isCode } from '../map-server-errors.ts'
import { parseTableMetadata, readShape, type ViewMetadata } from '../table-shape.ts'

/**
 * Creates the view in a temporary database, as a user who may write only there, and then swaps it in atomically. Then
 * does the same for each view that reads it, because a view keeps its original column types and would truncate wider
 * values. If `empty` is set, a materialised view gets no rows. Throws VIEWS_DEPEND, with nothing changed, if one of
 * those views becomes invalid.
 */
export async function replaceView(
  access: ClientAccess,
  metadata: ViewMetadata,
  { seconds, empty = false }: { seconds: number; empty?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const [schema, name] = metadata.at
  const database = databaseOf({ key: access.key, schema })
  const temporaryDatabase = `${runPrefix(access.key)}view_${randomUUID()}`
  const temporaryView = qualifyName(temporaryDatabase, name)
  const target = qualifyName(database, name)
  const createStatement = buildCreateStatement(temporaryView, metadata, empty)
  const queryId = randomUUID()
  try {
    await executeStatement(
      access.service,
      `create database ${quoteIdentifier(temporaryDatabase)} comment ${temporaryComment('view', seconds + 600)}`,
    )
    const settings = { max_execution_time: seconds }
    await executeStatement(access.load, createStatement, { database, signal, queryId, settings })
    signal.throwIfAborted()
    const readers = await listPlainReaders(access, { schema, name })
    await assertViewsCompile(access, readers, { schema, name }, temporaryView)
    const existing = await readShape(access.service, database, name)
    await executeStatement(
      access.service,
      existing ? `exchange tables ${temporaryView} and ${target}` : `rename table ${temporaryView} to ${target}`,
    )
    for (const reader of readers) await replaceView(access, reader, { seconds }, signal)
  } catch (error) {
    if (signal.aborted) await stopAtServer(access.service, queryId)
    throw isCode(error, errorCodes.tableExists) ? viewNameTaken(schema, name) : error
  } finally {
    await executeStatement(access.service, `drop database if exists ${quoteIdentifier(temporaryDatabase)}`).catch(
      () => {},
    )
  }
}

/** Returns the statement that creates a view. A materialised view is a table that is filled from the view's query. */
function buildCreateStatement(qualifiedName: string, metadata: ViewMetadata, empty: boolean): string {
  const comment = formatLiteral(JSON.stringify({ view: metadata }))
  const select = `select * from (\n${metadata.query}\n)`
  if (!metadata.materialized) return `create view ${qualifiedName} sql security invoker as ${select} comment ${comment}`
  const limit = empty ? ' limit 0' : ''
  return `create table ${qualifiedName} engine = MergeTree order by tuple() comment ${comment} as ${select}${limit}`
}

export const viewNameTaken = (schema: string, name: string) =>
  new WarehouseProblem(
    'VIEW_NAME_TAKEN',
    `${quotePlace(schema, name)} already exists. Choose another name for the view.`,
  )

/** Returns the metadata of the plain (not materialised) views that read the table or view directly. */
export async function listPlainReaders({ key, service }: ClientAccess, place: TablePlace): Promise<ViewMetadata[]> {
  const rows = await rowsOf<{ comment: string }>(
    service,
    `select comment from system.tables where startsWith(database, {prefix:String}) and engine = 'View'`,
    { parameters: { prefix: schemaPrefix(key) } },
  )
  return rows
    .flatMap(({ comment }) => parseTableMetadata(comment)?.view ?? [])
    .filter(({ reads }) => reads.some(([schema, name]) => schema === place.schema && name === place.name))
}

/** Throws VIEWS_DEPEND if one of these views would not compile with the table `replacement` instead of `place`. */
export async function assertViewsCompile(
  access: ClientAccess,
  views: readonly ViewMetadata[],
  place: TablePlace,
  replacement: string,
): Promise<void> {
  // The stored queries contain the server's full names, so the name can be replaced in their text.
  const replacedName = qualifyName(databaseOf({ key: access.key, schema: place.schema }), place.name)
  for (const { at, query } of views)
    try {
      const queryWithReplacement = query.replaceAll(replacedName, replacement)
      await executeStatement(access.load, `describe table (select * from (\n${queryWithReplacement}\n))`)
    } catch (error) {
      if (!(error instanceof ClickHouseError) || error.code === errorCodes.timeout) throw error
      throw new WarehouseProblem(
        'VIEWS_DEPEND',
        `The view ${quotePlace(...at)} would be invalid over the new ${quotePlace(place.schema, place.name)}: ${error.message.slice(0, 500)} Nothing has changed; change or drop this view and try again.`,
        { cause: error },
      )
    }
}
