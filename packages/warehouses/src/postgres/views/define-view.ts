import { trimStatementEnd } from '../../sql-text/sql-tokens.ts'
import { randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type ClientBase, type PoolClient } from 'pg'
import type { TablePlace } from '../../catalog.ts'
import type { DefinedView, ViewDefinition } from '../../view-store.ts'
import { borrowConnection, type PostgresPools } from '../postgres-connections.ts'
import { dependentViews } from './dependent-views.ts'
import {
  commentOf,
  findManagedView,
  findRelation,
  isView,
  markOf,
  viewKeyword,
  readsRelation,
  listReads,
  type PostgresRelation,
  assertViewSize,
} from './managed-views.ts'
import { checkSchemaName, checkTableName, qualifyName } from '../names.ts'
import { warehouseProblem } from '../problems.ts'
import { runStoppable } from '../queries/statement-watch.ts'
import { queryFailed, viewProblems } from './view-problems.ts'

/** SQLSTATE invalid_table_definition: CREATE OR REPLACE VIEW cannot change the columns in this way. */
const otherColumns = '42P16'

/** See `ViewStore.define`. The connection is not reused, because users' SQL ran on it. */
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
    if (!current || view.recreate || !isSame(current, view))
      await replaceCurrentView(client, view, { current, empty, maxBytes, runStatement })
    else await moveView(client, current, view)
    await client.query(
      `comment on ${viewKeyword(view.materialized)} ${qualifiedName} is ${escapeLiteral(commentOf(markOf(view)))}`,
    )
    const read = await listReads(client, (await findRelation(client, view))!.oid)
    await client.query('commit')
    // ANALYZE updates the planner's row count, which the API shows for the view.
    if (view.materialized) await client.query(`analyze ${qualifiedName}`).catch(() => {})
    return { reads: read }
  } catch (error) {
    if (signal.aborted) throw viewProblems.tooLong(qualifiedName, seconds)
    throw (error as { code?: string }).code === '42P07'
      ? viewProblems.taken(qualifiedName)
      : warehouseProblem(error, { qualifiedName })
  }
}

const isSame = (current: PostgresRelation, view: ViewDefinition): boolean =>
  current.managed?.definition === markOf(view).definition && (current.kind === 'm') === view.materialized

/** Finds the view to replace, in any schema. */
async function findCurrentView(
  client: ClientBase,
  view: ViewDefinition,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const [ownView, existing] = [await findManagedView(client, view.id), await findRelation(client, view)]
  if (existing && existing.oid !== ownView?.oid) {
    if (!ownView && view.takesOver && isView(existing) && existing.owned) return existing
    throw viewProblems.taken(qualifyName(view.schema, view.name))
  }
  return ownView
}

/** Renames a view and changes its schema. These are two statements, so it uses a temporary name in between. */
async function moveView(client: ClientBase, from: PostgresRelation & TablePlace, view: TablePlace): Promise<void> {
  if (from.schema === view.schema && from.name === view.name) return
  const kind = viewKeyword(from.kind === 'm')
  const temporary = temporaryName()
  await client.query(
    [
      `alter ${kind} ${qualifyName(from.schema, from.name)} rename to ${escapeIdentifier(temporary)}`,
      ...(from.schema === view.schema
        ? []
        : [`alter ${kind} ${qualifyName(from.schema, temporary)} set schema ${escapeIdentifier(view.schema)}`]),
      `alter ${kind} ${qualifyName(view.schema, temporary)} rename to ${escapeIdentifier(view.name)}`,
    ].join(';'),
  )
  if (from.schema !== view.schema) await exchangeGrants(client, from.schema, view)
}

/**
 * Updates the grants of a view that moved to another schema: readers of the old schema lose access, and readers of the
 * new schema get it.
 */
async function exchangeGrants(client: ClientBase, before: string, view: TablePlace): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select format(case n.nspname when $1 then 'revoke select on %I.%I from %I' else 'grant select on %I.%I to %I' end,
       $2::text, $3::text, pg_get_userbyid(g.grantee)) as statement
     from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) g
     where d.defaclrole = current_user::regrole and d.defaclobjtype = 'r' and g.privilege_type = 'SELECT'
       and g.grantee <> 0 and n.nspname in ($1, $2)
     order by n.nspname <> $1`,
    [before, view.schema, view.name],
  )
  for (const { statement } of rows) await client.query(statement)
}

const temporaryName = () => `sluice_${randomBytes(8).toString('hex')}`

interface ViewReplacement {
  /** The relation to replace, if one exists. */
  current: (PostgresRelation & TablePlace) | undefined
  empty: boolean
  maxBytes: number
  /** Runs the statement with the user's query, within the limits. */
  runStatement(statement: () => Promise<unknown>): Promise<unknown>
}

/** Creates the new view under a temporary name, so that the old view stays usable until the new one works. */
async function replaceCurrentView(
  client: PoolClient,
  view: ViewDefinition,
  { current, empty, maxBytes, runStatement }: ViewReplacement,
): Promise<unknown> {
  const temporaryView = { schema: view.schema, name: temporaryName() }
  await client.query(`set local search_path = ${escapeIdentifier(view.schema)}, pg_temp`)
  const opening = `create ${viewKeyword(view.materialized)} ${qualifyName(temporaryView.schema, temporaryView.name)} as (\n`
  const closing = view.materialized ? `\n) with ${empty ? 'no ' : ''}data` : '\n)'
  const query = trimStatementEnd(view.query)
  await runStatement(() => executeSingleStatement(client, `${opening}${query}${closing}`)).catch((error: unknown) => {
    throw queryFailed(error, {
      query: view.query,
      before: opening.length,
      qualifiedName: qualifyName(view.schema, view.name),
    })
  })
  // This search path makes PostgreSQL print names with their schemas.
  await client.query('set local search_path = pg_catalog')
  const { oid } = (await findRelation(client, temporaryView))!
  await assertReadsNothingHidden(client, oid)
  if (view.materialized) await assertViewSize(client, view, { oid, maxBytes })

  if (!current) return renameView(client, view, temporaryView)
  // The server cannot read a view that reads itself, and a load could not recreate the views that depend on it.
  if (await readsRelation(client, oid, current.oid)) throw viewProblems.readsItself(qualifyName(view.schema, view.name))
  await moveView(client, current, view)
  if (current.kind === 'v' && !view.materialized && (await tryReplaceInPlace(client, view, temporaryView, oid)))
    return undefined
  const viewsAbove = await dependentViews(client, current.oid)
  const foreign = viewsAbove.filter(({ owned }) => !owned).map(({ name }) => name)
  if (foreign.length > 0) throw viewProblems.readByOthers(qualifyName(view.schema, view.name), foreign)
  const indexes = current.kind === 'm' && view.materialized ? await listIndexes(client, current.oid) : []
  for (const { drop } of viewsAbove.toReversed()) await client.query(drop)
  await client.query(`drop ${viewKeyword(current.kind === 'm')} ${qualifyName(view.schema, view.name)}`)
  await renameView(client, view, temporaryView)
  for (const index of indexes) await recreateIndex(client, index)
  const names = viewsAbove.map(({ name }) => name)
  for (const statement of viewsAbove.flatMap(({ create }) => create))
    await client.query(statement).catch((error: unknown) => {
      throw viewProblems.rebuildFailed(error, qualifyName(view.schema, view.name), names)
    })
  return undefined
}

const renameView = (client: ClientBase, { name, materialized }: ViewDefinition, temporaryView: TablePlace) =>
  client.query(
    `alter ${viewKeyword(materialized)} ${qualifyName(temporaryView.schema, temporaryView.name)} rename to ${escapeIdentifier(name)}`,
  )

/**
 * Replaces the query of the view in place, if its columns stay or new ones are only appended. Dependent views are then
 * unaffected.
 */
async function tryReplaceInPlace(
  client: ClientBase,
  view: TablePlace,
  temporaryView: TablePlace,
  oid: number,
): Promise<boolean> {
  const { rows } = await client.query('select pg_get_viewdef($1::oid) as definition', [oid])
  await client.query('savepoint in_place')
  try {
    await client.query(
      `create or replace view ${qualifyName(view.schema, view.name)} as ${rows[0].definition.replace(/;\s*$/, '')}`,
    )
  } catch (error) {
    if ((error as { code?: string }).code !== otherColumns) throw error
    await client.query('rollback to savepoint in_place')
    return false
  }
  await client.query(`drop view ${qualifyName(temporaryView.schema, temporaryView.name)}`)
  return true
}

async function listIndexes(client: ClientBase, oid: number): Promise<string[]> {
  const { rows } = await client.query<{ index: string }>(
    'select pg_get_indexdef(indexrelid) as index from pg_index where indrelid = $1::oid order by indexrelid',
    [oid],
  )
  return rows.map(({ index }) => index)
}

/**
 * Recreates an index of the old view on the new one. Skips the index if its columns no longer exist or its values are
 * no longer unique.
 */
async function recreateIndex(client: ClientBase, index: string): Promise<void> {
  await client.query('savepoint index_kept')
  await client.query(index).catch((error: { code?: string }) => {
    if (!['42703', '23505', '42804'].includes(error.code ?? '')) throw error
    return client.query('rollback to savepoint index_kept')
  })
}

/** Throws if the view reads a hidden table. Loads create and drop such tables, and the view would block the drop. */
async function assertReadsNothingHidden(client: ClientBase, oid: number): Promise<void> {
  const hidden = (await listReads(client, oid)).find(
    ({ schema }) => schema === 'sluice' || schema.startsWith('sluice_'),
  )
  if (hidden) throw viewProblems.readsHidden(qualifyName(hidden.schema, hidden.name))
}

/** Runs one statement. The extended protocol rejects several statements in one text. */
function executeSingleStatement(client: ClientBase, text: string): Promise<unknown> {
  return client.query({ text, queryMode: 'extended' } as { text: string })
}
