import { type Catalog, type ColumnNameMatch, type StagingTable, type TablePlace } from '../catalog.ts'
import { type ClientBase, type Pool, escapeIdentifier } from 'pg'
import type { ForeignKey, Publication, PublishedTable, WarehouseColumn, WarehouseTable } from '../warehouse.ts'
import { parseProfileReference } from '../load-target.ts'
import type { LastLoad } from '../loader.ts'
import { type SourceShape, createColumnHistory, sourceShapeOfTable } from '../shape/previous-source-columns.ts'
import { type PostgresShape, type ShapeColumn, readShape, readShapes } from './table-shape.ts'
import { describeType, storedAs } from './column-types.ts'
import { checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { withClient } from './postgres-connections.ts'
import { dropKeptTablesOfSchema, dropKeptVersions } from './publishing/replaced-tables.ts'
import { sqlStateOf, sqlStates } from './server/sql-states.ts'
import { explainDependents, tableNotOwned, warehouseProblem } from './map-server-errors.ts'
import type { PostgresServer } from './postgres-server.ts'

/** Timeouts for a drop: it holds an exclusive lock until its transaction ends. */
const dropTimeouts = `set local lock_timeout = '5s'; set local statement_timeout = '10s'`

/** Returns the functions that list, describe, create and drop the schemas and tables of a PostgreSQL warehouse. */
export function postgresCatalog({ access, pools, retention, run }: PostgresServer): Catalog {
  return {
    listSchemas: () => run('the warehouse', listSchemas),
    async ensureSchema(schema) {
      checkSchemaName(schema)
      await ensureSchema(pools.statements, schema, access.read.user).catch((error: unknown) => {
        throw warehouseProblem(error, { qualifiedName: escapeIdentifier(schema) })
      })
    },
    async dropSchema(schema) {
      checkSchemaName(schema)
      const qualifiedName = escapeIdentifier(schema)
      await run(qualifiedName, async (client) => {
        await client.query(`begin; ${dropTimeouts}; drop schema if exists ${qualifiedName}`)
        await dropKeptTablesOfSchema(client, retention, schema)
        await client.query('commit')
      }).catch(explainDependents(qualifiedName, 'SCHEMA_NOT_EMPTY'))
    },
    listRelations: (schemas) => run('the warehouse', (client) => listRelations(client, schemas)),
    async findTable(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return run(qualifyName(schema, table), (client) => findTable(client, schema, table))
    },
    findTables: (places) => run('the warehouse', (client) => findTables(client, places)),
    findColumnNames: (places, prefix, limit) =>
      run('the warehouse', (client) => findColumnNames(client, places, prefix, limit)),
    findStagingTable: (schema, table, options) =>
      run(qualifyName(schema, table), (client) => findStagingTable(client, schema, table, options)),
    async dropTable(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      const qualifiedName = qualifyName(schema, table)
      await run(qualifiedName, async (client) => {
        await client.query(`begin; ${dropTimeouts}`)
        const shape = await readShape(client, schema, table)
        if (shape && !shape.owned) throw tableNotOwned({ qualifiedName })
        await client.query(`drop table if exists ${qualifiedName}`)
        await dropKeptVersions(client, retention, [{ schema, table }])
        await client.query('commit')
      }).catch(explainDependents(qualifiedName, 'VIEWS_DEPEND'))
    },
  }
}

/** Returns the publication of a run from the ledger, or undefined if the run is not published. */
export async function findPublication(client: ClientBase, run: string): Promise<Publication | undefined> {
  const { rows: publishedRuns } = await client.query('select attempt, published_at from sluice.ledger where run = $1', [
    run,
  ])
  const [publishedRun] = publishedRuns
  if (!publishedRun) return undefined
  // Reads `details` through JSON, because a ledger that is not upgraded yet has no such column.
  const { rows: ledgerRows } = await client.query(
    `select schema_name as schema, table_name as "table", rows::float8, bytes::float8, changes,
       to_jsonb(ledger_table) -> 'details' as details
     from sluice.ledger_table as ledger_table where run = $1 order by schema_name, table_name`,
    [run],
  )
  const tables = ledgerRows.map(({ details, ...table }): PublishedTable => ({ ...table, ...details }))
  return {
    run,
    attempt: publishedRun.attempt,
    publishedAt: publishedRun.published_at,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables,
  }
}

/**
 * Describes a table or view. Returns undefined if it does not exist. The row count is that of the last load, or the
 * planner's estimate for a relation that no load created.
 */
export async function findTable(client: ClientBase, schema: string, name: string): Promise<WarehouseTable | undefined> {
  const shape = await readShape(client, schema, name)
  return shape && toWarehouseTable(client, { schema, name }, shape)
}

/** Describes a table for the API, from its shape. Reads only its foreign keys from the server. */
async function toWarehouseTable(
  client: ClientBase,
  { schema, name }: TablePlace,
  shape: PostgresShape,
): Promise<WarehouseTable> {
  const { lastPublication } = shape
  const findColumnHistory = createColumnHistory(lastPublication?.sourceShape)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...findColumnHistory(column.name),
  }))
  // PostgreSQL implements foreign keys by triggers, so a table without triggers has none.
  const foreignKeys = shape.hasTriggers ? await listForeignKeys(client, shape.oid) : []
  const rowCount = lastPublication?.tableRows ?? shape.estimatedRows
  const profile = parseProfileReference(lastPublication?.profile)
  return { schema, name, columns, rowCount, size: shape.size, foreignKeys, ...(profile && { profile }) }
}

/**
 * Returns the source columns of the table's last load. Derives them from the table's columns if no load has recorded
 * them: in older versions, loads did not. Returns undefined without a table.
 */
export function previousSourceShape(shape: PostgresShape | undefined): SourceShape | undefined {
  if (!shape) return undefined
  const { lastPublication } = shape
  if (lastPublication?.sourceShape) return lastPublication.sourceShape
  const columns = shape.columns.map((column) => ({ ...column, ...storedAs(column.type) }))
  return sourceShapeOfTable(columns, lastPublication?.suppliedColumns ?? [])
}

/** Returns the cursor and the source columns of a table's last load. Both are undefined without a table. */
export async function findLastLoad(client: ClientBase, schema: string, name: string): Promise<LastLoad> {
  const shape = await readShape(client, schema, name)
  return { cursor: shape?.lastPublication?.cursor ?? undefined, sourceShape: previousSourceShape(shape) }
}

export function describeColumn({
  name,
  label,
  type,
  primaryKey,
}: Pick<ShapeColumn, 'name' | 'label' | 'type' | 'primaryKey'>): WarehouseColumn {
  return { name, label, ...describeType(type), primaryKey }
}

/**
 * Returns the foreign keys of a table and of its default partition, which contains the rows: one entry per pair of
 * referencing and referenced column. Loads create no foreign keys, but transformations may.
 */
async function listForeignKeys(client: ClientBase, oid: number): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select own_column.attname as column, other_schema.nspname as "referencedSchema",
       other_table.relname as "referencedTable", other_column.attname as "referencedColumn"
     from pg_constraint as foreign_key
     join pg_class as other_table on other_table.oid = foreign_key.confrelid
     join pg_namespace as other_schema on other_schema.oid = other_table.relnamespace
     cross join lateral unnest(foreign_key.conkey, foreign_key.confkey)
       with ordinality as pair (own_number, other_number, position)
     join pg_attribute as own_column
       on own_column.attrelid = foreign_key.conrelid and own_column.attnum = pair.own_number
     join pg_attribute as other_column
       on other_column.attrelid = foreign_key.confrelid and other_column.attnum = pair.other_number
     where foreign_key.contype = 'f'
       -- Leaves out the copies of a partitioned table's key that the server creates for the partitions.
       and foreign_key.conparentid = 0
       and foreign_key.conrelid in ($1::oid, (select partdefid from pg_partitioned_table where partrelid = $1::oid))
     order by foreign_key.conname, pair.position`,
    [oid],
  )
  return rows
}

/**
 * Lists tables and views. Leaves out foreign tables, which store their data on other servers, and partitions, which
 * belong to a listed table.
 */
async function listRelations(client: ClientBase, schemas: readonly string[]): Promise<TablePlace[]> {
  const { rows } = await client.query<TablePlace>(
    `select schema.nspname as schema, relation.relname as name
     from pg_class as relation join pg_namespace as schema on schema.oid = relation.relnamespace
     where schema.nspname = any($1) and schema.nspname not like 'pg\\_%' and schema.nspname not like 'sluice%'
       -- Tables, partitioned tables, views and materialised views.
       and relation.relkind in ('r', 'p', 'v', 'm') and not relation.relispartition
     order by schema.nspname collate "C", relation.relname collate "C"`,
    [schemas],
  )
  return rows
}

/**
 * Describes those of the tables that exist, in the order of `places`. Reads them in one statement, so callers pass at
 * most one page of places.
 */
async function findTables(client: ClientBase, places: readonly TablePlace[]): Promise<WarehouseTable[]> {
  const shapes = await readShapes(
    client,
    places.map(({ schema, name }) => ({ schema, table: name })),
  )
  const tables: WarehouseTable[] = []
  for (const [index, place] of places.entries()) {
    const shape = shapes[index]
    if (shape) tables.push(await toWarehouseTable(client, place, shape))
  }
  return tables
}

/**
 * Finds the column names of these tables that start with `prefix`, ignoring the case of ASCII letters only. Each match
 * has the number of tables with that column and one of the tables as an example.
 */
async function findColumnNames(
  client: ClientBase,
  places: readonly TablePlace[],
  prefix: string,
  limit: number,
): Promise<ColumnNameMatch[]> {
  const { rows } = await client.query<Omit<ColumnNameMatch, 'dataType'> & { type: string }>(
    // Finds the first `limit` names first, and then describes the column of one table for each. Collation C compares
    // bytes, which is several times faster.
    `with requested_table as (
       select relation.oid from unnest($1::text[], $2::text[]) as place (schema, name)
       join pg_namespace as schema on schema.nspname = place.schema
       join pg_class as relation on relation.relnamespace = schema.oid and relation.relname = place.name
     ), found_name as (
       select attname as name, count(*)::int as tables, min(attrelid) as example_table from pg_attribute
       where attrelid = any (array(select oid from requested_table)) and attnum > 0 and not attisdropped
         and starts_with(lower(attname::text collate "C"), lower($3::text collate "C"))
       group by attname order by attname collate "C" limit $4
     )
     select found_name.name::text as "column", schema.nspname::text as schema, relation.relname::text as "table",
       format_type(example.atttypid, example.atttypmod) as type, found_name.tables
     from found_name
     join pg_attribute as example on example.attrelid = found_name.example_table and example.attname = found_name.name
     join pg_class as relation on relation.oid = found_name.example_table
     join pg_namespace as schema on schema.oid = relation.relnamespace
     order by found_name.name collate "C"`,
    [places.map(({ schema }) => schema), places.map(({ name }) => name), prefix, limit],
  )
  return rows.map(({ type, ...match }) => ({ ...match, dataType: describeType(type).dataType }))
}

/**
 * Finds the newest staging table of a target table. The comment of a staging table is a JSON object with its target and
 * its run. With `counted`, counts the rows; otherwise returns the server's estimate.
 */
async function findStagingTable(
  client: ClientBase,
  schema: string,
  table: string,
  { counted = false } = {},
): Promise<StagingTable | undefined> {
  const { rows } = await client.query<{ name: string; run: string }>(
    `with hidden_table as (
       select oid, relname as name,
         case when obj_description(oid, 'pg_class') is json object then obj_description(oid, 'pg_class')::jsonb end
           as comment
       from pg_class
       where relnamespace = to_regnamespace('sluice') and relkind = 'r' and not relispartition
         and relname not in (select partition_name from sluice.kept_table where partition_name is not null)
     )
     select name, comment->>'run' as run from hidden_table
     where comment->>'schema' = $1 and comment->>'table' = $2 and comment ? 'run'
     order by oid desc limit 1`,
    [schema, table],
  )
  const [stagingTable] = rows
  if (!stagingTable) return undefined
  const shape = await readShape(client, 'sluice', stagingTable.name)
  if (!shape) return undefined
  const columns = shape.columns.map(describeColumn)
  // The estimate is 0 for a table that the server has never analysed.
  const rowCount = counted ? await countRows(client, stagingTable.name) : shape.estimatedRows
  const { size } = shape
  return { schema: 'sluice', name: stagingTable.name, run: stagingTable.run, columns, rowCount, size, foreignKeys: [] }
}

async function countRows(client: ClientBase, stagingTable: string): Promise<number> {
  const { rows } = await client.query(`select count(*)::float8 as count from ${qualifyName('sluice', stagingTable)}`)
  return rows[0].count
}

/** SQLSTATEs that occur when two callers create the same schema, or change the same catalogue row, at the same time. */
const collisionStates: ReadonlySet<string> = new Set([
  sqlStates.uniqueViolation,
  sqlStates.duplicateSchema,
  sqlStates.internalError,
])
const maxEnsureTries = 5

/**
 * Creates the schema, unless it exists, and grants role `read` access to everything that `load` creates in it.
 * Idempotent, also for concurrent callers.
 */
async function ensureSchema(pool: Pool, schema: string, read: string): Promise<void> {
  // The statements below write to the catalogue even if they change nothing, and would then wait for the disk.
  if (await withClient(pool, undefined, (client) => isSchemaReady(client, schema, read))) return
  const name = escapeIdentifier(schema)
  const reader = escapeIdentifier(read)
  const statements = [
    'begin',
    `create schema if not exists ${name}`,
    `grant usage on schema ${name} to ${reader}`,
    `alter default privileges in schema ${name} grant select on tables to ${reader}`,
    // Users can create functions with SECURITY DEFINER, which would otherwise give the rights of `load` to `read`.
    'alter default privileges revoke execute on functions from public',
    'commit',
  ]
  for (let tries = 1; ; tries += 1) {
    try {
      await withClient(pool, undefined, (client) => client.query(statements.join(';')))
      return
    } catch (error) {
      // Another caller may create the same schema at this moment.
      const mayTryAgain = tries < maxEnsureTries && collisionStates.has(sqlStateOf(error))
      if (!mayTryAgain) throw error
    }
  }
}

/**
 * Returns whether the schema exists with all rights that `ensureSchema` sets: the role `read` may use the schema and
 * will be able to select from its new tables, and new functions of the current role are not executable by everyone.
 */
async function isSchemaReady(client: ClientBase, schema: string, read: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `with own_default as (select * from pg_default_acl where defaclrole = current_user::regrole)
     select from pg_namespace as schema
     where schema.nspname = $1 and has_schema_privilege($2, schema.oid, 'usage')
       -- Role read may select from new tables of the schema.
       and exists (
         select from own_default, aclexplode(own_default.defaclacl) as privilege
         where own_default.defaclnamespace = schema.oid and own_default.defaclobjtype = 'r'
           and privilege.grantee = $2::regrole and privilege.privilege_type = 'SELECT')
       -- The default rights for new functions of all schemas (namespace 0) give PUBLIC (grantee 0) none.
       and exists (
         select from own_default where defaclnamespace = 0 and defaclobjtype = 'f'
           and not exists (select from aclexplode(own_default.defaclacl) as privilege where privilege.grantee = 0))`,
    [schema, read],
  )
  return rowCount === 1
}

/** Lists the schemas that `load` created, except Sluice's hidden ones. */
async function listSchemas(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
     where nspowner = current_user::regrole and nspname <> 'sluice' and nspname not like 'sluice\\_%' and nspname not like 'pg\\_%'
     order by nspname`,
  )
  return rows.map(({ name }) => name)
}
