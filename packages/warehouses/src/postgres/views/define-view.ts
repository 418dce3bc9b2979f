import { trimStatementEnd } from '../../sql-text/sql-tokens.ts'
import { randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type ClientBase, type PoolClient } from 'pg'
import type { TablePlace } from '../../catalog.ts'
import type { DefinedView, ViewDefinition } from '../../view-store.ts'
import { borrowConnection, type PostgresPools } from '../postgres-connections.ts'
import { listDependentViews } from './dependent-views.ts'
import {
  formatViewComment,
  findManagedView,
  findRelation,
  isView,
  metadataOf,
  viewKeyword,
  readsRelation,
  listReads,
  type PostgresRelation,
  assertViewSize,
} from './managed-views.ts'
import { checkSchemaName, checkTableName, qualifyName } from '../sql-identifiers.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { executeSingleStatement } from '../queries/read-transaction.ts'
import { runStoppable } from '../queries/statement-watchdog.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { queryFailed, viewProblems } from './view-problems.ts'

/**
 * See `ViewStore.define`. If the view's query has not changed, only moves the view to its new schema and name. The
 * connection is not reused, because users' SQL ran on it.
 */
export async function defineView(
  pools: PostgresPools,
  view: ViewDefinition,
  { seconds, empty = false, maxBytes }: { seconds: number; empty?: boolean; maxBytes: number },
  signal: AbortSignal,
): Promise<DefinedView> {
  checkSchemaName(view.schema)
  checkTableName(view.name)
  const qualifiedName = qualifyName(view.schema, view.name)
  try {
    using borrowed = await borrowConnection(pools.transactions, signal)
    const { client } = borrowed
    await client.query(`begin; set local statement_timeout = '${seconds}s'; set local lock_timeout = '5s'`)
    const current = await findCurrentView(client, view)
    const limits = { seconds, signal, subject: `The query of ${qualifiedName}` }
    const runStatement = (statement: () => Promise<unknown>) =>
      runStoppable(pools.statements, client, limits, statement)
    const keepsDefinition = current && !view.recreate && hasSameDefinition(current, view)
    if (keepsDefinition) await moveView(client, current, view)
    else await replaceCurrentView(client, view, { current, empty, maxBytes, runStatement })
    await client.query(
      `comment on ${viewKeyword(view.materialized)} ${qualifiedName} is ${escapeLiteral(formatViewComment(metadataOf(view)))}`,
    )
    const reads = await listReads(client, (await findRelation(client, view))!.oid)
    await client.query('commit')
    // ANALYZE updates the planner's row count, which the API shows for the view.
    if (view.materialized) await client.query(`analyze ${qualifiedName}`).catch(() => {})
    return { reads }
  } catch (error) {
    if (signal.aborted) throw viewProblems.tooLong(qualifiedName, seconds)
    if (sqlStateOf(error) === sqlStates.duplicateTable) throw viewProblems.taken(qualifiedName)
    throw warehouseProblem(error, { qualifiedName })
  }
}

/** True if the existing view has the same query and kind, so that it need not be replaced. */
function hasSameDefinition(current: PostgresRelation, view: ViewDefinition): boolean {
  const isMaterialized = current.kind === 'm'
  return current.managed?.definition === metadataOf(view).definition && isMaterialized === view.materialized
}

/**
 * Finds the view that `view` replaces, in any schema: the managed view with the same id or, with `view.takesOver`, an
 * unmanaged view with the same name. Throws VIEW_NAME_TAKEN if another relation has the name.
 */
async function findCurrentView(
  client: ClientBase,
  view: ViewDefinition,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const viewWithId = await findManagedView(client, view.id)
  const relationWithName = await findRelation(client, view)
  const isNameAvailable = !relationWithName || relationWithName.oid === viewWithId?.oid
  if (isNameAvailable) return viewWithId
  const isOwnView = isView(relationWithName) && relationWithName.owned
  const mayTakeOver = view.takesOver && viewWithId === undefined && isOwnView
  if (mayTakeOver) return relationWithName
  throw viewProblems.taken(qualifyName(view.schema, view.name))
}

/**
 * Moves a view to the schema and name of `view`. Does nothing if it has them already. The schema and the name change in
 * separate statements. In between, the view has a temporary name, which exists in neither schema.
 */
async function moveView(client: ClientBase, from: PostgresRelation & TablePlace, view: TablePlace): Promise<void> {
  const changesSchema = from.schema !== view.schema
  if (!changesSchema && from.name === view.name) return
  const kind = viewKeyword(from.kind === 'm')
  const temporary = temporaryName()
  await client.query(`alter ${kind} ${qualifyName(from.schema, from.name)} rename to ${escapeIdentifier(temporary)}`)
  if (changesSchema)
    await client.query(
      `alter ${kind} ${qualifyName(from.schema, temporary)} set schema ${escapeIdentifier(view.schema)}`,
    )
  await client.query(`alter ${kind} ${qualifyName(view.schema, temporary)} rename to ${escapeIdentifier(view.name)}`)
  if (changesSchema) await exchangeGrants(client, from.schema, view)
}

/**
 * Updates the grants of a view that moved to another schema: readers of the old schema lose access, and readers of the
 * new schema get it.
 */
async function exchangeGrants(client: ClientBase, oldSchema: string, view: TablePlace): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    // The default privileges of a schema name the roles that may read its tables and views.
    `select format(
       case schema.nspname when $1 then 'revoke select on %I.%I from %I' else 'grant select on %I.%I to %I' end,
       $2::text, $3::text, pg_get_userbyid(privilege.grantee)) as statement
     from pg_default_acl as schema_default
     join pg_namespace as schema on schema.oid = schema_default.defaclnamespace
     cross join lateral aclexplode(schema_default.defaclacl) as privilege
     where schema_default.defaclrole = current_user::regrole and schema_default.defaclobjtype = 'r'
       and privilege.privilege_type = 'SELECT' and privilege.grantee <> 0 and schema.nspname in ($1, $2)
     -- Revokes first: a reader of both schemas keeps the access.
     order by schema.nspname <> $1`,
    [oldSchema, view.schema, view.name],
  )
  for (const { statement } of rows) await client.query(statement)
}

const temporaryName = () => `sluice_${randomBytes(8).toString('hex')}`

interface ViewReplacement {
  /** The view to replace, if one exists. */
  current: (PostgresRelation & TablePlace) | undefined
  /** True if a materialised view is created without rows. */
  empty: boolean
  /** The maximum size of a materialised view. */
  maxBytes: number
  /** Runs the statement with the user's query, within the limits. */
  runStatement(statement: () => Promise<unknown>): Promise<unknown>
}

/**
 * Creates the view, or replaces `current`. First creates the new view under a temporary name, so that the old view
 * stays usable until the new one works. Then replaces the old view's query in place, if possible. Otherwise drops the
 * old view and the views that read it, and recreates the latter over the new view.
 */
async function replaceCurrentView(
  client: PoolClient,
  view: ViewDefinition,
  { current, empty, maxBytes, runStatement }: ViewReplacement,
): Promise<void> {
  const temporaryView = await createTemporaryView(client, view, { empty, maxBytes, runStatement })
  if (!current) return renameView(client, view, temporaryView)
  // The server cannot read a view that reads itself, and a load could not recreate the views that depend on it.
  if (await readsRelation(client, temporaryView.oid, current.oid))
    throw viewProblems.readsItself(qualifyName(view.schema, view.name))
  await moveView(client, current, view)
  const arePlainViews = current.kind === 'v' && !view.materialized
  if (arePlainViews && (await tryReplaceInPlace(client, view, temporaryView))) return
  await replaceWithDependents(client, view, { current, temporaryView })
}

/**
 * Creates the new view under a temporary name in its schema. Throws if its query fails, if it reads hidden tables, or
 * if a materialised view is too large.
 */
async function createTemporaryView(
  client: PoolClient,
  view: ViewDefinition,
  { empty, maxBytes, runStatement }: Omit<ViewReplacement, 'current'>,
): Promise<TablePlace & { oid: number }> {
  const temporaryView = { schema: view.schema, name: temporaryName() }
  await client.query(`set local search_path = ${escapeIdentifier(view.schema)}, pg_temp`)
  const opening = `create ${viewKeyword(view.materialized)} ${qualifyName(temporaryView.schema, temporaryView.name)} as (\n`
  const closing = view.materialized ? `\n) with ${empty ? 'no ' : ''}data` : '\n)'
  const query = trimStatementEnd(view.query)
  await runStatement(() => executeSingleStatement(client, `${opening}${query}${closing}`)).catch((error: unknown) => {
    throw queryFailed(error, {
      query: view.query,
      prefixLength: opening.length,
      qualifiedName: qualifyName(view.schema, view.name),
    })
  })
  // This search path makes PostgreSQL print names with their schemas.
  await client.query('set local search_path = pg_catalog')
  const { oid } = (await findRelation(client, temporaryView))!
  await assertReadsNothingHidden(client, oid)
  if (view.materialized) await assertViewSize(client, view, { oid, maxBytes })
  return { ...temporaryView, oid }
}

/**
 * Drops the old view with all views that read it, gives the new view its name, and recreates the dropped views. Throws
 * VIEWS_DEPEND if another role owns one of them, or if one of them does not work with the new view.
 */
async function replaceWithDependents(
  client: ClientBase,
  view: ViewDefinition,
  { current, temporaryView }: { current: PostgresRelation; temporaryView: TablePlace },
): Promise<void> {
  const qualifiedName = qualifyName(view.schema, view.name)
  const wasMaterialized = current.kind === 'm'
  const dependents = await listDependentViews(client, current.oid)
  // Sluice may not drop and recreate the views of other roles.
  const viewsOfOthers = dependents.filter(({ owned }) => !owned).map(({ name }) => name)
  if (viewsOfOthers.length > 0) throw viewProblems.readByOthers(qualifiedName, viewsOfOthers)
  const indexes = wasMaterialized && view.materialized ? await listIndexes(client, current.oid) : []
  // A view comes after the views that it reads, so the last view is dropped first.
  for (const { drop } of dependents.toReversed()) await client.query(drop)
  await client.query(`drop ${viewKeyword(wasMaterialized)} ${qualifiedName}`)
  await renameView(client, view, temporaryView)
  for (const index of indexes) await recreateIndex(client, index)
  const dependentNames = dependents.map(({ name }) => name)
  for (const statement of dependents.flatMap(({ create }) => create))
    await client.query(statement).catch((error: unknown) => {
      throw viewProblems.rebuildFailed(error, qualifiedName, dependentNames)
    })
}

/** Gives the new view its name. */
async function renameView(
  client: ClientBase,
  { name, materialized }: ViewDefinition,
  temporaryView: TablePlace,
): Promise<void> {
  await client.query(
    `alter ${viewKeyword(materialized)} ${qualifyName(temporaryView.schema, temporaryView.name)} rename to ${escapeIdentifier(name)}`,
  )
}

/**
 * Tries to replace the query of the view in place, and then drops the temporary view. Dependent views are unaffected.
 * Returns false, with nothing changed, if PostgreSQL does not allow it: the new query must have the columns of the old
 * one, and may only append further ones.
 */
async function tryReplaceInPlace(
  client: ClientBase,
  view: TablePlace,
  temporaryView: TablePlace & { oid: number },
): Promise<boolean> {
  const { rows } = await client.query('select pg_get_viewdef($1::oid) as definition', [temporaryView.oid])
  await client.query('savepoint in_place')
  try {
    await client.query(
      `create or replace view ${qualifyName(view.schema, view.name)} as ${rows[0].definition.replace(/;\s*$/, '')}`,
    )
  } catch (error) {
    if (sqlStateOf(error) !== sqlStates.invalidTableDefinition) throw error
    await client.query('rollback to savepoint in_place')
    return false
  }
  await client.query(`drop view ${qualifyName(temporaryView.schema, temporaryView.name)}`)
  return true
}

/** Returns the CREATE INDEX statements of a materialised view's indexes. */
async function listIndexes(client: ClientBase, oid: number): Promise<string[]> {
  const { rows } = await client.query<{ index: string }>(
    'select pg_get_indexdef(indexrelid) as index from pg_index where indrelid = $1::oid order by indexrelid',
    [oid],
  )
  return rows.map(({ index }) => index)
}

/** SQLSTATEs of a new view on which an index of the old view is not possible. */
const unusableIndexStates: ReadonlySet<string> = new Set([
  sqlStates.undefinedColumn,
  sqlStates.uniqueViolation,
  sqlStates.datatypeMismatch,
])

/**
 * Recreates an index of the old view on the new one. Skips the index if its columns no longer exist or have other
 * types, or if its values are not unique any more.
 */
async function recreateIndex(client: ClientBase, createStatement: string): Promise<void> {
  await client.query('savepoint before_index')
  await client.query(createStatement).catch((error: unknown) => {
    if (!unusableIndexStates.has(sqlStateOf(error))) throw error
    return client.query('rollback to savepoint before_index')
  })
}

/** Throws if the view reads a hidden table. Loads create and drop such tables, and the view would block the drop. */
async function assertReadsNothingHidden(client: ClientBase, oid: number): Promise<void> {
  const hidden = (await listReads(client, oid)).find(
    ({ schema }) => schema === 'sluice' || schema.startsWith('sluice_'),
  )
  if (hidden) throw viewProblems.readsHidden(qualifyName(hidden.schema, hidden.name))
}
