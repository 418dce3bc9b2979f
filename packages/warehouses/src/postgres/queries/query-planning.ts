import { type Client, DatabaseError, escapeIdentifier } from 'pg'
import type { AmbiguousTable, QueryPlan, TablePlace, UserQuery } from '../../warehouse.ts'
import { type WarehouseAccess, destroySocket, readClient } from '../postgres-connections.ts'
import { queryProblem } from './query-problems.ts'
import { cursorPrefix } from './query-session.ts'
import { beginReading, executeOne, endReadSession } from './read-transaction.ts'

/**
 * EXPLAIN of a cursor declaration, which plans the query without running it. The user's text cannot add ANALYZE, and
 * the server rejects anything after DECLARE that is not a single query.
 */
const explainPrefix = `explain ${cursorPrefix}`

/**
 * Lets the server plan the query with this schema search path and returns the plan. Planning locks all relations that
 * the query names and that their views read.
 */
export type QueryPlanner = (schemas: readonly string[]) => Promise<string>

/**
 * Opens a connection of role `read` that plans queries without running them. Each plan first releases the locks of the
 * previous one. Throws the errors of `QueryRunner.query`, and the signal's reason on abort.
 */
export async function withQueryPlanner<T>(
  access: WarehouseAccess,
  query: UserQuery,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
  callback: (client: Client, plan: QueryPlanner) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = readClient(access)
  const abort = () => destroySocket(client)
  signal.addEventListener('abort', abort, { once: true })
  const plan: QueryPlanner = async (schemas) => {
    await client.query(`rollback to savepoint planned; set local search_path = ${pathOf(schemas)}`)
    const rows = await executeOne(client, explainPrefix + query.text, query.values, query.texts)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }
  try {
    await client.connect()
    const begin = beginReading({ searchPath: 'pg_catalog', idle: 30 })
    await client.query(`${begin}; set local statement_timeout = '${seconds}s'; select; savepoint planned`)
    return await callback(client, plan)
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblem(error, { query, prefix: explainPrefix.length, seconds })
  } finally {
    signal.removeEventListener('abort', abort)
    await endReadSession(client)
  }
}

const pathOf = (schemas: readonly string[]) => schemas.map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'

/** True if the server rejected the statement because of a name, a type or the syntax. */
export const isSyntaxOrNameError = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code?.startsWith('42') === true

/**
 * The time limit for planning, in seconds. It can be short: if locks delay planning, running the query reports that
 * problem.
 */
const planningTimeoutSeconds = 10

/** See `QueryRunner.explain`. */
export function readQueryPlan(access: WarehouseAccess, query: UserQuery, signal: AbortSignal): Promise<QueryPlan> {
  return withQueryPlanner(access, query, { seconds: planningTimeoutSeconds, signal }, async (client, plan) => {
    const text = await plan(query.schemas ?? [])
    const { rows: reads } = await client.query<TablePlace>(lockedRelationsQuery)
    const [, rows] = /\brows=(\d+)/.exec(text) ?? []
    return { text, reads, ...(rows !== undefined && { estimatedRows: Number(rows) }) }
  })
}

/** Selects the tables and views that the last plan has locked, except those of the server and of Sluice. */
const lockedRelationsQuery = `
  select n.nspname::text as schema, c.relname::text as name
  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
  where l.pid = pg_backend_pid() and l.locktype = 'relation' and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and l.database = (select oid from pg_database where datname = current_database()) and not c.relispartition
    and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%' and n.nspname not like 'sluice%'
  order by n.nspname collate "C", c.relname collate "C"`

/**
 * Selects the tables and views that the last plan has locked, if other schemas of the list have a relation with the
 * same name.
 */
const ambiguousRelationsQuery = `
  select c.oid::int8::float8 as oid, c.relname::text as name, found.schemas
  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select array_agg(of.nspname::text order by of.nspname::text collate "C") as schemas
    from pg_class o join pg_namespace of on of.oid = o.relnamespace
    where o.relname = c.relname and of.nspname = any ($1::text[]) and o.relkind in ('r', 'p', 'v', 'm', 'f')) found
  where l.pid = pg_backend_pid() and l.locktype = 'relation' and n.nspname = any ($1::text[])
    and l.database = (select oid from pg_database where datname = current_database())
    and cardinality(found.schemas) > 1
  order by c.relname collate "C"`

interface AmbiguousRelation extends AmbiguousTable {
  oid: number
}

/**
 * See `QueryRunner.findAmbiguousTable`. The server plans the query twice, with the schemas in their order and reversed.
 * A name that refers to different tables in the two plans is unqualified. So the server itself resolves the names.
 */
export function ambiguousTable(
  access: WarehouseAccess,
  query: UserQuery,
  preferredCount: number,
  signal: AbortSignal,
): Promise<AmbiguousTable | undefined> {
  const schemas = query.schemas ?? []
  const [first, otherSchemas] = [schemas.slice(0, preferredCount), schemas.slice(preferredCount)]
  if (otherSchemas.length < 2) return Promise.resolve(undefined)
  return withQueryPlanner(access, query, { seconds: planningTimeoutSeconds, signal }, async (client, plan) => {
    const planned = (order: readonly string[]) =>
      plan(order).then(
        () => namesakesOf(client, otherSchemas),
        (error: unknown) => {
          // Planning may fail in one of the two orders, because tables of the same name have different columns.
          if (isSyntaxOrNameError(error)) return undefined
          throw error
        },
      )
    const read = await planned(schemas)
    if (read?.length === 0) return undefined
    const reversed = await planned([...first, ...otherSchemas.toReversed()])
    const either = read ?? reversed
    if (!either) return undefined
    const ambiguous =
      read && reversed
        ? (findMissing(read, reversed) ?? findMissing(reversed, read))
        : (either.find(({ name }) => hasBareName(query.text, name)) ?? either[0])
    return ambiguous && { name: ambiguous.name, schemas: ambiguous.schemas }
  })
}

/** Returns the first relation of `some` that is not in `otherRelations`. */
const findMissing = (
  some: readonly AmbiguousRelation[],
  otherRelations: readonly AmbiguousRelation[],
): AmbiguousRelation | undefined => some.find(({ oid }) => otherRelations.every((other) => other.oid !== oid))

const namesakesOf = async (client: Client, schemas: readonly string[]): Promise<AmbiguousRelation[]> =>
  (await client.query<AmbiguousRelation>(ambiguousRelationsQuery, [schemas])).rows

/** True if the text contains the name without a schema. */
const hasBareName = (text: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w$.]|\."|\w")"?${RegExp.escape(name)}"?(?![\w$"])`, 'iu').test(text)
