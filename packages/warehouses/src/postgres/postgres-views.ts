import type { ClientBase } from 'pg'
import type { TablePlace } from '../catalog.ts'
import type { ViewStore, WarehouseView } from '../view-store.ts'
import { defineView } from './views/define-view.ts'
import { borrowConnection, type PostgresPools } from './postgres-connections.ts'
import { findTable } from './postgres-catalog.ts'
import {
  assertViewSize,
  findManagedView,
  findRelation,
  isView,
  listUnmanagedViews,
  listViewReads,
  viewKeyword,
} from './views/managed-views.ts'
import type { PostgresServer } from './postgres-server.ts'
import { checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { explainDependents, warehouseProblem } from './map-server-errors.ts'
import { runStoppable } from './queries/statement-watchdog.ts'
import { viewProblems } from './views/view-problems.ts'
import { sqlStateOf } from './server/sql-states.ts'

/** Returns the functions that create, refresh, find and drop the views of a PostgreSQL warehouse. */
export function postgresViews({ pools, viewBytes, run }: PostgresServer): ViewStore {
  const limits = { maxBytes: viewBytes }
  return {
    define: (view, options, signal) => defineView(pools, view, { ...options, ...limits }, signal),
    async drop(schema, name) {
      const qualifiedName = qualifyName(schema, name)
      await run(qualifiedName, (client) => dropView(client, schema, name)).catch(
        explainDependents(qualifiedName, 'VIEWS_DEPEND'),
      )
    },
    refresh: (schema, name, signal) => refreshView(pools, { schema, name }, signal, limits),
    find: (schema, name) => run(qualifyName(schema, name), (client) => findView(client, schema, name)),
    listReads: (schema, name) => run(qualifyName(schema, name), (client) => listViewReads(client, { schema, name })),
    isManaged: (id) => run('the warehouse', async (client) => (await findManagedView(client, id)) !== undefined),
    listUnmanagedReaders: (schema, name) =>
      run(qualifyName(schema, name), (client) => listUnmanagedViews(client, { schema, name })),
  }
}

/** The time limit for filling a view, in seconds. */
const refreshTimeoutSeconds = 7_200

/** Selects the unique indexes on plain columns for all rows. PostgreSQL requires one for REFRESH … CONCURRENTLY. */
const usableUniqueIndexesQuery = `select from pg_index
  where indrelid = $1::oid and indisunique and indisvalid and indimmediate and indpred is null and indexprs is null`

/**
 * Refreshes a materialised view and returns its row count and size. Does not block readers if the view has rows and a
 * unique index. The view's query can run user-defined functions, so the connection is closed afterwards and never
 * reused.
 */
async function refreshView(
  pools: PostgresPools,
  { schema, name }: TablePlace,
  signal: AbortSignal,
  { maxBytes }: { maxBytes: number },
): Promise<{ rows: number; bytes: number }> {
  checkSchemaName(schema)
  checkTableName(name)
  const qualifiedName = qualifyName(schema, name)
  try {
    using borrowed = await borrowConnection(pools.transactions, signal)
    const { client } = borrowed
    await client.query(
      `begin; set local statement_timeout = '${refreshTimeoutSeconds}s'; set local lock_timeout = '30s'`,
    )
    const view = await findRelation(client, { schema, name })
    const isOwnMaterializedView = view?.kind === 'm' && view.owned
    if (!isOwnMaterializedView) throw viewProblems.missing(qualifiedName)
    const { rowCount: uniqueIndexCount } = await client.query(usableUniqueIndexesQuery, [view.oid])
    // PostgreSQL requires both for a refresh that does not block readers.
    const concurrently = uniqueIndexCount && view.populated ? 'concurrently ' : ''
    await runStoppable(
      pools.statements,
      client,
      { seconds: refreshTimeoutSeconds, signal, subject: `The query of ${qualifiedName}` },
      () => client.query(`refresh materialized view ${concurrently}${qualifiedName}`),
    )
    await assertViewSize(client, { schema, name }, { oid: view.oid, maxBytes })
    const { rows } = await client.query<{ rows: number }>(`select count(*)::float8 as rows from ${qualifiedName}`)
    await client.query('commit')
    // ANALYZE updates the planner's row count, which the API shows for the view.
    await client.query(`analyze ${qualifiedName}`).catch(() => {})
    const { rows: sizes } = await client.query('select pg_total_relation_size($1::oid)::float8 as bytes', [view.oid])
    return { rows: rows[0]!.rows, bytes: sizes[0].bytes }
  } catch (error) {
    signal.throwIfAborted()
    throw refreshProblem(error, qualifiedName)
  }
}

/** SQLSTATEs and SQLSTATE classes of errors that the view's query causes. */
const queryErrorStates = /^(21|22|23|38|39|42|55000|P0)/

/**
 * Returns the problem for a failed refresh. If the user's query caused the error, the problem contains the server's
 * message.
 */
function refreshProblem(error: unknown, qualifiedName: string): unknown {
  if (!queryErrorStates.test(sqlStateOf(error))) return warehouseProblem(error, { qualifiedName })
  return viewProblems.refreshFailed(qualifiedName, (error as Error).message, error)
}

/** Drops a view in a separate transaction. Does nothing if it does not exist or role `load` does not own it. */
async function dropView(client: ClientBase, schema: string, name: string): Promise<void> {
  await client.query(`begin; set local lock_timeout = '5s'; set local statement_timeout = '10s'`)
  const view = await findRelation(client, { schema, name })
  if (view && isView(view) && view.owned)
    await client.query(`drop ${viewKeyword(view.kind === 'm')} ${qualifyName(schema, name)}`)
  await client.query('commit')
}

async function findView(client: ClientBase, schema: string, name: string): Promise<WarehouseView | undefined> {
  const relation = await findRelation(client, { schema, name })
  if (!relation || !isView(relation)) return undefined
  const table = await findTable(client, schema, name)
  if (!table) return undefined
  const { kind, populated, managed } = relation
  return { ...table, materialized: kind === 'm', populated, ...(managed && { managed }) }
}
