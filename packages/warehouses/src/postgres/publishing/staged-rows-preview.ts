import { createHash } from 'node:crypto'
import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg'
import type { StagedParents } from '../../load-target.ts'
import type { OldRows, ReadyTable, StagedRowsPreview, UserQuery } from '../../warehouse.ts'
import { type PostgresPools, type WarehouseAccess, withClient } from '../postgres-connections.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { type PostgresShape, readShape } from '../table-shape.ts'
import { dropRunSchema } from '../transformation/transformation-schema.ts'
import { withQueryPlanner } from '../queries/query-planning.ts'
import { deletedCondition, isChildOf } from './merge-in-place.ts'

const shortTimeouts = `set local lock_timeout = '5s'; set local statement_timeout = '1min'`
const maxDropTries = 5

/** The names of the two schemas of a preview. */
interface PreviewSchemas {
  /** Contains a view of each table, with the rows that the table will have after the publication. */
  views: string
  /** Contains an empty table with the columns of each view. */
  emptyTables: string
}

/**
 * Creates a schema with one view per table, which shows the rows that the table will have after the publication. See
 * `Loader.exposeStagedRows`. Creates a second schema with empty tables of the same names and columns.
 *
 * To detect that a query reads published rows, the server plans the query with the empty tables instead of the views in
 * its search path. If the plan locks a published table, the query reads that table itself. With the views, every query
 * could lock published tables, because the views may read them.
 */
export async function exposeStagedRows(
  pools: PostgresPools,
  access: WarehouseAccess,
  tables: readonly ReadyTable[],
  { run, attempt }: { run: string; attempt: number },
): Promise<StagedRowsPreview> {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, attempt, tables]))
    .digest('hex')
    .slice(0, 16)
  const schemas: PreviewSchemas = { views: `sluice_shown_${hash}`, emptyTables: `sluice_bare_${hash}` }
  const schemaNames = [schemas.views, schemas.emptyTables]
  const reader = access.read.user
  const drop = async () => {
    for (const schema of schemaNames) await dropWithRetry(pools, schema)
  }
  const qualifiedName = qualifyName(tables[0]!.schema, tables[0]!.table)
  const liveOids = await withClient(pools.statements, undefined, async (client) => {
    await client.query(`begin; ${shortTimeouts}`)
    const origin = { run, attempt, ...tables[0]! }
    await client.query(schemaNames.flatMap((schema) => createPreviewSchema(schema, reader, origin)).join(';'))
    const oids: number[] = []
    for (const table of tables) oids.push(...(await createPreviewRelations(client, schemas, reader, table)))
    await client.query('commit')
    return oids
  }).catch(async (error: unknown) => {
    await drop().catch(() => {})
    throw warehouseProblem(error, { qualifiedName })
  })
  return {
    schema: schemas.views,
    findOldRows: (query, signal) => {
      // Plans the query with the empty tables instead of the views.
      const searchPath = (query.schemas ?? []).map((name) => (name === schemas.views ? schemas.emptyTables : name))
      return findOldRows(access, liveOids, { ...query, schemas: searchPath }, signal)
    },
    async [Symbol.asyncDispose]() {
      await drop().catch((error: unknown) => {
        throw warehouseProblem(error, { qualifiedName })
      })
    },
  }
}

/**
 * Drops the schema of a preview. Tries up to five times, because the server may still lock a view shortly after it
 * stopped a query of that view.
 */
async function dropWithRetry({ statements }: PostgresPools, schema: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await dropRunSchema(statements, schema)
      return
    } catch (error) {
      if (tries === maxDropTries) throw error
    }
  }
}

/**
 * Returns the statements that create the schema of a preview. The comment lets maintenance find and drop the schema
 * after a worker crash.
 */
function createPreviewSchema(
  previewSchema: string,
  reader: string,
  { run, attempt, schema, table }: StagedTableOrigin,
): string[] {
  const name = escapeIdentifier(previewSchema)
  const comment = escapeLiteral(JSON.stringify({ run, attempt, schema, table }))
  return [
    `drop schema if exists ${name} cascade`,
    `create schema ${name}`,
    `comment on schema ${name} is ${comment}`,
    `grant usage on schema ${name} to ${escapeIdentifier(reader)}`,
  ]
}

interface StagedTableOrigin extends ReadyTable {
  run: string
  attempt: number
}

/**
 * Creates the view that shows a table's rows after the publication, and an empty table with the same columns. Returns
 * the OIDs of the published table and its partitions; none if the table is not published yet.
 */
async function createPreviewRelations(
  client: ClientBase,
  schemas: PreviewSchemas,
  reader: string,
  ready: ReadyTable,
): Promise<number[]> {
  const staging = (await readShape(client, 'sluice', ready.staging))!
  const currentShape = await readShape(client, ready.schema, ready.table)
  const view = qualifyName(schemas.views, ready.table)
  const emptyTable = qualifyName(schemas.emptyTables, ready.table)
  await client.query(
    [
      `create view ${view} as ${selectRowsAfterPublication(ready, staging, currentShape)}`,
      `grant select on ${view} to ${escapeIdentifier(reader)}`,
      `create table ${emptyTable} as table ${view} with no data`,
      `grant select on ${emptyTable} to ${escapeIdentifier(reader)}`,
    ].join(';'),
  )
  if (!currentShape) return []
  // `pg_partition_tree` returns nothing for a relation that is not partitioned, so the relation itself is added.
  const { rows } = await client.query<{ oid: number }>(
    `select relid::int8::float8 as oid from pg_partition_tree($1::oid)
     union select $1::oid::int8::float8`,
    [currentShape.oid],
  )
  return rows.map(({ oid }) => oid)
}

const previewTimeoutSeconds = 30

/**
 * Selects one relation with published rows that the preceding EXPLAIN has locked: a table, a view that reads it, or a
 * materialised view. The server locks every relation that a query names or that its views read. A relation that the
 * query names is preferred. `$1` are the OIDs of the published tables.
 */
const lockedOldRelationQuery = `
  with recursive old (oid, depth) as (
    select oid, 0 from unnest($1::oid[]) as live (oid)
    union
    select r.ev_class, old.depth + 1 from old
      join pg_depend d on d.refobjid = old.oid and d.refclassid = 'pg_class'::regclass and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid and r.ev_class <> old.oid
  )
  select format('%s.%s', n.nspname, c.relname) as name, c.relkind in ('v', 'm') as view
  from old join pg_class c on c.oid = old.oid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname <> 'sluice' and n.nspname not like 'sluice\\_%' and exists (
    select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.relation = c.oid
      and l.database = (select oid from pg_database where datname = current_database()))
  order by view desc, depth desc, name limit 1`

/** See `StagedRowsPreview.findOldRows`. `liveOids` are the OIDs of the published tables and their partitions. */
function findOldRows(
  access: WarehouseAccess,
  liveOids: readonly number[],
  query: UserQuery,
  signal: AbortSignal,
): Promise<OldRows | undefined> {
  return withQueryPlanner(access, query, { seconds: previewTimeoutSeconds, signal }, async (client, plan) => {
    await plan(query.schemas ?? [])
    const { rows } = await client.query<OldRows>(lockedOldRelationQuery, [liveOids])
    return rows[0]
  })
}

/**
 * Returns the query for the rows that a table will have after its publication. Without `merge`, these are the staged
 * rows. With `merge`, these are the rows that `mergeInPlace` would leave in the published partition.
 */
export function selectRowsAfterPublication(
  { staging: name, merge }: ReadyTable,
  staging: PostgresShape,
  currentShape: PostgresShape | undefined,
): string {
  const stagingTable = qualifyName('sluice', name)
  const stagedNames = staging.columns.map((column) => column.name)
  const currentNames = (currentShape?.columns ?? []).map((column) => column.name)
  if (merge === undefined || currentShape?.partition === undefined) {
    // The published columns keep their order. Those that the staging table lacks are dropped.
    const remainingNames = currentNames.filter((column) => stagedNames.includes(column))
    const columns = [...new Set([...remainingNames, ...stagedNames])]
    return `select ${columns.map((column) => escapeIdentifier(column)).join(', ')} from ${stagingTable}`
  }
  const merged: MergedTable = {
    merge,
    stagingTable,
    partition: qualifyName('sluice', currentShape.partition),
    columns: [...new Set([...currentNames, ...stagedNames])],
  }
  const parents = merge.parents && currentNames.includes(merge.parents.column) ? merge.parents : undefined
  return `${selectRemainingRows(merged, parents)} union all ${selectIncomingRows(merged, staging)}`
}

/**
 * A table into which rows are merged. In the statements, the published partition has the alias `old`, and the staging
 * table has the alias `incoming`.
 */
interface MergedTable {
  merge: NonNullable<ReadyTable['merge']>
  /** The quoted names of the staging table and of the published partition. */
  stagingTable: string
  partition: string
  /** The columns of the table after the publication. */
  columns: string[]
}

/**
 * Returns the SQL condition that the rows `old` and `incoming` have the same key. A load without a key replaces no
 * rows.
 */
const haveSameKey = ({ merge }: MergedTable): string =>
  merge.keys.map((key) => `incoming.${escapeIdentifier(key)} = old.${escapeIdentifier(key)}`).join(' and ') || 'false'

/**
 * Selects the published rows that the increment does not replace. If they are child rows, the increment replaces all
 * child rows of the staged `parents`.
 */
function selectRemainingRows(table: MergedTable, parents: StagedParents | undefined): string {
  const { stagingTable, partition, columns } = table
  const oldValues = columns.map((column) => `old.${escapeIdentifier(column)}`).join(', ')
  const hasOtherParent = parents ? `not ${isChildOf(parents, 'old')}` : 'true'
  return `select ${oldValues} from ${partition} as old
    where not exists (select from ${stagingTable} as incoming where ${haveSameKey(table)}) and ${hasOtherParent}`
}

/**
 * Selects the staged rows that are not marked as deleted. Columns that the load does not replace have the values of the
 * published row with the same key, or NULL for a new row.
 */
function selectIncomingRows(table: MergedTable, staging: PostgresShape): string {
  const { merge, stagingTable, partition, columns } = table
  const replacedColumns = new Set(merge.columns ?? staging.columns.map(({ name }) => name))
  const values = columns.map(
    (column) => `${replacedColumns.has(column) ? 'incoming' : 'old'}.${escapeIdentifier(column)}`,
  )
  const target = merge.deletedColumn === undefined ? {} : { deletedColumn: merge.deletedColumn }
  const isDeleted = deletedCondition({ target }, staging, 'incoming')
  return `select ${values.join(', ')} from ${stagingTable} as incoming left join ${partition} as old on ${haveSameKey(table)}
    where ${isDeleted ? `not ${isDeleted}` : 'true'}`
}
