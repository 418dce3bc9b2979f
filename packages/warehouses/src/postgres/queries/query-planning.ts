import { type Client, DatabaseError } from 'pg'
import type { AmbiguousTable, QueryPlan, TablePlace, UserQuery } from '../../warehouse.ts'
import { type WarehouseAccess, destroySocket, readClient } from '../postgres-connections.ts'
import { queryProblem } from './query-problems.ts'
import { cursorPrefix } from './query-session.ts'
import {
  beginReading,
  endReadSession,
  executeSingleStatement,
  formatSearchPath,
  takeSnapshot,
} from './read-transaction.ts'

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
 * Opens a connection of role `read` for `callback`, closes it afterwards, and returns the callback's result. With
 * `plan`, the callback can plan the query with several search paths without running it. Each call first releases the
 * locks of the previous one. Throws the errors of `QueryRunner.query`, and the signal's reason on abort.
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
    await client.query(`rollback to savepoint before_plan; set local search_path = ${formatSearchPath(schemas)}`)
    const rows = await executeSingleStatement(client, explainPrefix + query.text, query.values, query.texts)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }
  try {
    await client.connect()
    const begin = beginReading({ searchPath: 'pg_catalog', idle: 30 })
    await client.query(`${begin}; set local statement_timeout = '${seconds}s'; ${takeSnapshot}; savepoint before_plan`)
    return await callback(client, plan)
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblem(error, { query, prefixLength: explainPrefix.length, seconds })
  } finally {
    signal.removeEventListener('abort', abort)
    await endReadSession(client)
  }
}

/** The SQLSTATE class of syntax errors, unknown names and wrong types. */
const syntaxOrNameErrorClass = '42'

/** True if the server rejected the statement because of a name, a type or the syntax. */
export const isSyntaxOrNameError = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code?.startsWith(syntaxOrNameErrorClass) === true

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
    // The first row estimate in the plan is that of the whole query.
    const [, estimatedRows] = /\brows=(\d+)/.exec(text) ?? []
    return { text, reads, ...(estimatedRows !== undefined && { estimatedRows: Number(estimatedRows) }) }
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
 * Selects those tables and views that the last plan has locked and that have a namesake in another of the schemas `$1`.
 * `schemas` lists the schemas with that name.
 */
const relationsWithNamesakeQuery = `
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
 * See `QueryRunner.findAmbiguousTable`. The server itself resolves the names: it plans the query twice, with the
 * schemas after the preferred ones in their order and in reverse order. A name is ambiguous if it refers to different
 * tables in the two plans.
 */
export function findAmbiguousTable(
  access: WarehouseAccess,
  query: UserQuery,
  preferredCount: number,
  signal: AbortSignal,
): Promise<AmbiguousTable | undefined> {
  const schemas = query.schemas ?? []
  const preferredSchemas = schemas.slice(0, preferredCount)
  const otherSchemas = schemas.slice(preferredCount)
  if (otherSchemas.length < 2) return Promise.resolve(undefined)
  return withQueryPlanner(access, query, { seconds: planningTimeoutSeconds, signal }, async (client, plan) => {
    // Returns the relations in the plan that have a namesake in another schema; undefined if the query cannot be
    // planned.
    const findRelationsWithNamesake = async (searchPath: readonly string[]) => {
      try {
        await plan(searchPath)
      } catch (error) {
        if (isSyntaxOrNameError(error)) return undefined
        throw error
      }
      return listRelationsWithNamesake(client, otherSchemas)
    }
    const inOrder = await findRelationsWithNamesake(schemas)
    const hasNoNamesakes = inOrder?.length === 0
    if (hasNoNamesakes) return undefined
    const inReverseOrder = await findRelationsWithNamesake([...preferredSchemas, ...otherSchemas.toReversed()])
    if (inOrder && inReverseOrder) return findMissing(inOrder, inReverseOrder) ?? findMissing(inReverseOrder, inOrder)
    // Planning fails in one of the two orders if tables of the same name have different columns. Then one of the
    // relations in the other plan is ambiguous, most likely one that the query names without a schema.
    const candidates = inOrder ?? inReverseOrder ?? []
    const relation = candidates.find(({ name }) => hasUnqualifiedName(query.text, name)) ?? candidates[0]
    return relation && toAmbiguousTable(relation)
  })
}

const toAmbiguousTable = ({ name, schemas }: AmbiguousRelation): AmbiguousTable => ({ name, schemas })

/** Returns the first relation of one plan that is not in the other plan. */
const findMissing = (
  relations: readonly AmbiguousRelation[],
  otherRelations: readonly AmbiguousRelation[],
): AmbiguousTable | undefined => {
  const missing = relations.find(({ oid }) => otherRelations.every((other) => other.oid !== oid))
  return missing && toAmbiguousTable(missing)
}

/** Lists the tables and views that the last plan has locked and that have a namesake in another of the schemas. */
const listRelationsWithNamesake = async (client: Client, schemas: readonly string[]): Promise<AmbiguousRelation[]> =>
  (await client.query<AmbiguousRelation>(relationsWithNamesakeQuery, [schemas])).rows

/**
 * True if the text contains the name without a schema, in quotes or not: `cases` and `"cases"`, but neither
 * `health.cases` nor `cases_2`.
 */
const hasUnqualifiedName = (text: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w$.]|\."|\w")"?${RegExp.escape(name)}"?(?![\w$"])`, 'iu').test(text)
