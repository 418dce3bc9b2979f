import type { ClientBase } from 'pg'
import type { TablePlace, WarehouseView } from '../views.ts'
import { borrow } from './postgres-connections.ts'
import { findTable } from './postgres-catalog.ts'
import type { PostgresPools } from './postgres-loader.ts'
import { findRelation, isView, viewKeyword } from './managed-views.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { runStoppable } from './statement-watch.ts'
import { viewProblems } from './view-problems.ts'

/** Seconds that filling a view may take. */
const refreshTimeoutSeconds = 7_200

/** PostgreSQL requires a unique index over plain columns and all rows. */
const canConcurrently = `select from pg_index where indrelid = $1::oid and indisunique and indisvalid and indimmediate
  and indpred is null and indexprs is null`

/** See `WarehouseViews.refreshView`. It runs user-defined functions, so the connection is closed afterwards. */
export async function refreshView(
  pools: PostgresPools,
  { schema, name }: TablePlace,
  signal: AbortSignal,
  { mostBytes }: { mostBytes: number },
): Promise<{ rows: number; bytes: number }> {
  checkSchemaName(schema)
  checkTableName(name)
  const place = qualified(schema, name)
  try {
    using borrowed = await borrow(pools.transactions, signal)
    const { client } = borrowed
    await client.query(
      `begin; set local statement_timeout = '${refreshTimeoutSeconds}s'; set local lock_timeout = '30s'`,
    )
    const view = await findRelation(client, { schema, name })
    if (view?.kind !== 'm' || !view.ours) throw viewProblems.missing(place)
    const { rowCount } = await client.query(canConcurrently, [view.oid])
    const concurrently = rowCount && view.populated ? 'concurrently ' : ''
    await runStoppable(
      pools.statements,
      client,
      { seconds: refreshTimeoutSeconds, signal, what: `The query of ${place}` },
      () => client.query(`refresh materialized view ${concurrently}${place}`),
    )
    await assertViewSize(client, { schema, name }, { oid: view.oid, mostBytes })
    const { rows } = await client.query<{ rows: number }>(`select count(*)::float8 as rows from ${place}`)
    await client.query('commit')
    await client.query(`analyze ${place}`).catch(() => {})
    const { rows: sizes } = await client.query('select pg_total_relation_size($1::oid)::float8 as bytes', [view.oid])
    return { rows: rows[0]!.rows, bytes: sizes[0].bytes }
  } catch (error) {
    signal.throwIfAborted()
    throw refreshProblem(error, place)
  }
}

/** The query is the user's, so its errors are reported in the server's words. */
function refreshProblem(error: unknown, place: string): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (!/^(21|22|23|38|39|42|55000|P0)/.test(code)) return warehouseProblem(error, { place })
  return viewProblems.refreshFailed(place, message, error)
}

/** Runs in its own transaction. */
export async function dropView(client: ClientBase, schema: string, name: string): Promise<void> {
  await client.query(`begin; set local lock_timeout = '5s'; set local statement_timeout = '10s'`)
  const view = await findRelation(client, { schema, name })
  if (view && isView(view) && view.ours)
    await client.query(`drop ${viewKeyword(view.kind === 'm')} ${qualified(schema, name)}`)
  await client.query('commit')
}

export async function findView(client: ClientBase, schema: string, name: string): Promise<WarehouseView | undefined> {
  const relation = await findRelation(client, { schema, name })
  const table = relation && isView(relation) ? await findTable(client, schema, name) : undefined
  if (!relation || !table) return undefined
  const { kind, populated, managed } = relation
  return { ...table, materialized: kind === 'm', populated, ...(managed && { managed }) }
}

/** Bytes that a materialised view may have, with its indexes and what it keeps out of line. */
export const mostViewBytes = 50 * 1024 ** 3

/** Runs after the view is built and before the commit: a view that is too large is rolled back. */
export async function assertViewSize(
  client: ClientBase,
  { schema, name }: TablePlace,
  { oid, mostBytes }: { oid: number; mostBytes: number },
): Promise<void> {
  const { rows } = await client.query<{ bytes: number }>('select pg_total_relation_size($1::oid)::float8 as bytes', [
    oid,
  ])
  if (rows[0]!.bytes > mostBytes) throw viewProblems.tooLarge(qualified(schema, name), rows[0]!.bytes, mostBytes)
}
