import { withoutEnd } from '../../../sql-text.ts'
import { randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type ClientBase, type PoolClient } from 'pg'
import { type DefinedView, type Place, type ViewDefinition } from '../views.ts'
import { borrow } from './postgres-connections.ts'
import { dependentViews } from './dependent-views.ts'
import type { Pools } from './postgres-loader.ts'
import {
  commentOf,
  findManaged,
  findRelation,
  isView,
  markOf,
  noun,
  reads,
  readsOf,
  type Relation,
} from './managed-views.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { stoppable } from './statement-watch.ts'
import { queryFailed, viewProblems } from './view-problems.ts'
import { demandSmall } from './postgres-views.ts'

/** PostgreSQL's word for a view whose columns cannot become those of the new query while it stays the same view. */
const otherColumns = '42P16'

/** See `WarehouseViews.defineView`. Nobody else gets the connection on which users' SQL ran. */
export async function defineView(
  pools: Pools,
  view: ViewDefinition,
  { seconds, empty = false, mostBytes }: { seconds: number; empty?: boolean; mostBytes: number },
  signal: AbortSignal,
): Promise<DefinedView> {
  checkSchemaName(view.schema)
  checkTableName(view.name)
  const place = qualified(view.schema, view.name)
  try {
    using borrowed = await borrow(pools.transactions, signal)
    const { client } = borrowed
    await client.query(`begin; set local statement_timeout = '${seconds}s'; set local lock_timeout = '5s'`)
    const current = await currentOf(client, view)
    const limits = { seconds, signal, what: `The query of ${place}` }
    const make = (statement: () => Promise<unknown>) => stoppable(pools.statements, client, limits, statement)
    if (!current || view.anew || !isSame(current, view))
      await replace(client, view, { current, empty, mostBytes, make })
    else await move(client, current, view)
    await client.query(`comment on ${noun(view.materialized)} ${place} is ${escapeLiteral(commentOf(markOf(view)))}`)
    const read = await readsOf(client, (await findRelation(client, view))!.oid)
    await client.query('commit')
    // The planner's count of its rows is what is shown of them.
    if (view.materialized) await client.query(`analyze ${place}`).catch(() => {})
    return { reads: read }
  } catch (error) {
    if (signal.aborted) throw viewProblems.tooLong(place, seconds)
    throw (error as { code?: string }).code === '42P07' ? viewProblems.taken(place) : warehouseProblem(error, { place })
  }
}

const isSame = (current: Relation, view: ViewDefinition): boolean =>
  current.managed?.definition === markOf(view).definition && (current.kind === 'm') === view.materialized

/** The view that is to be replaced, wherever it is; undefined where there is none. */
async function currentOf(client: ClientBase, view: ViewDefinition): Promise<(Relation & Place) | undefined> {
  const [own, there] = [await findManaged(client, view.id), await findRelation(client, view)]
  if (there && there.oid !== own?.oid) {
    if (!own && view.takesOver && isView(there) && there.ours) return there
    throw viewProblems.taken(qualified(view.schema, view.name))
  }
  return own
}

async function move(client: ClientBase, from: Relation & Place, view: Place): Promise<void> {
  if (from.schema === view.schema && from.name === view.name) return
  const kind = noun(from.kind === 'm')
  const passing = passingName()
  await client.query(
    [
      `alter ${kind} ${qualified(from.schema, from.name)} rename to ${escapeIdentifier(passing)}`,
      ...(from.schema === view.schema
        ? []
        : [`alter ${kind} ${qualified(from.schema, passing)} set schema ${escapeIdentifier(view.schema)}`]),
      `alter ${kind} ${qualified(view.schema, passing)} rename to ${escapeIdentifier(view.name)}`,
    ].join(';'),
  )
}

const passingName = () => `sluice_${randomBytes(8).toString('hex')}`

interface Replacement {
  /** What is replaced, if anything is. */
  current: (Relation & Place) | undefined
  empty: boolean
  mostBytes: number
  /** Runs the statement in which the user's query is. */
  make(statement: () => Promise<unknown>): Promise<unknown>
}

/**
 * The new view is made under another name first: so the old one is not touched before it is known to work, and not locked
 * while the new one is filled.
 */
async function replace(
  client: PoolClient,
  view: ViewDefinition,
  { current, empty, mostBytes, make }: Replacement,
): Promise<unknown> {
  const made = { schema: view.schema, name: passingName() }
  await client.query(`set local search_path = ${escapeIdentifier(view.schema)}, pg_temp`)
  const opening = `create ${noun(view.materialized)} ${qualified(made.schema, made.name)} as (\n`
  const closing = view.materialized ? `\n) with ${empty ? 'no ' : ''}data` : '\n)'
  const query = withoutEnd(view.query)
  await make(() => extended(client, `${opening}${query}${closing}`)).catch((error: unknown) => {
    throw queryFailed(error, { query: view.query, before: opening.length, place: qualified(view.schema, view.name) })
  })
  // From here on names come with their schemas.
  await client.query('set local search_path = pg_catalog')
  const { oid } = (await findRelation(client, made))!
  await demandReadable(client, oid)
  if (view.materialized) await demandSmall(client, view, { oid, mostBytes })

  if (!current) return rename(client, view, made)
  // What goes round in circles no server can read, nor could a load ever make anew what depends on it.
  if (await reads(client, oid, current.oid)) throw viewProblems.readsItself(qualified(view.schema, view.name))
  await move(client, current, view)
  if (current.kind === 'v' && !view.materialized && (await replacedInPlace(client, view, made, oid))) return undefined
  const over = await dependentViews(client, current.oid)
  const foreign = over.filter(({ ours }) => !ours).map(({ name }) => name)
  if (foreign.length > 0) throw viewProblems.readByOthers(qualified(view.schema, view.name), foreign)
  const indexes = current.kind === 'm' && view.materialized ? await indexesOf(client, current.oid) : []
  for (const { drop } of over.toReversed()) await client.query(drop)
  await client.query(`drop ${noun(current.kind === 'm')} ${qualified(view.schema, view.name)}`)
  await rename(client, view, made)
  for (const index of indexes) await keepIndex(client, index)
  const names = over.map(({ name }) => name)
  for (const statement of over.flatMap(({ create }) => create))
    await client.query(statement).catch((error: unknown) => {
      throw viewProblems.unmakeable(error, qualified(view.schema, view.name), names)
    })
  return undefined
}

const rename = (client: ClientBase, { name, materialized }: ViewDefinition, made: Place) =>
  client.query(`alter ${noun(materialized)} ${qualified(made.schema, made.name)} rename to ${escapeIdentifier(name)}`)

/** The same view with another query, where its columns stay or only more come: whatever reads it is left alone. */
async function replacedInPlace(client: ClientBase, view: Place, made: Place, oid: number): Promise<boolean> {
  const { rows } = await client.query('select pg_get_viewdef($1::oid) as definition', [oid])
  await client.query('savepoint in_place')
  try {
    await client.query(
      `create or replace view ${qualified(view.schema, view.name)} as ${rows[0].definition.replace(/;\s*$/, '')}`,
    )
  } catch (error) {
    if ((error as { code?: string }).code !== otherColumns) throw error
    await client.query('rollback to savepoint in_place')
    return false
  }
  await client.query(`drop view ${qualified(made.schema, made.name)}`)
  return true
}

async function indexesOf(client: ClientBase, oid: number): Promise<string[]> {
  const { rows } = await client.query<{ index: string }>(
    'select pg_get_indexdef(indexrelid) as index from pg_index where indrelid = $1::oid order by indexrelid',
    [oid],
  )
  return rows.map(({ index }) => index)
}

/** One whose columns are gone, or whose values are unique no more, goes with the old view. */
async function keepIndex(client: ClientBase, index: string): Promise<void> {
  await client.query('savepoint index_kept')
  await client.query(index).catch((error: { code?: string }) => {
    if (!['42703', '23505', '42804'].includes(error.code ?? '')) throw error
    return client.query('rollback to savepoint index_kept')
  })
}

/** What loads keep in hidden schemas comes and goes; a view over it would hold it fast. */
async function demandReadable(client: ClientBase, oid: number): Promise<void> {
  const hidden = (await readsOf(client, oid)).find(({ schema }) => schema === 'sluice' || schema.startsWith('sluice_'))
  if (hidden) throw viewProblems.readsHidden(qualified(hidden.schema, hidden.name))
}

/** By the extended protocol, which takes one statement and no more. */
function extended(client: ClientBase, text: string): Promise<unknown> {
  return client.query({ text, queryMode: 'extended' } as { text: string })
}
