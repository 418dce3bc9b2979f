import { type Catalog, type ColumnNameMatch, type StagingTable, type TablePlace } from '../catalog.ts'
import { type ClientBase, type Pool, escapeIdentifier } from 'pg'
import type { ForeignKey, Publication, PublishedTable, WarehouseColumn, WarehouseTable } from '../warehouse.ts'
import { parseProfileReference } from '../load-target.ts'
import type { LastLoad } from '../loader.ts'
import { type SourceShape, createColumnHistory, sourceShapeOfTable } from '../shape/previous-source-columns.ts'
import { type PostgresShape, type ShapeColumn, readShape, readShapes } from './table-shape.ts'
import { describeType, storedAs } from './types.ts'
import { checkSchemaName, checkTableName, qualifyName } from './names.ts'
import { withClient } from './postgres-connections.ts'
import { dropKeptTablesOfSchema, dropKeptVersions } from './publishing/replaced-tables.ts'
import { sqlStateOf, sqlStates } from './server/sql-states.ts'
import { explainDependents, tableNotOwned, warehouseProblem } from './problems.ts'
import type { PostgresServer } from './postgres-server.ts'

/** Timeouts for a drop: it holds an exclusive lock until its transaction ends. */
const dropTimeouts = `set local lock_timeout = '5s'; set local statement_timeout = '10s'`

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
  const { rows: runRows } = await client.query('select attempt, published_at from sluice.ledger where run = $1', [run])
  if (!runRows[0]) return undefined
  const { rows } = await client.query(
    // A ledger that is not upgraded yet has no column `details`.
    `select schema_name as schema, table_name as "table", rows::float8, bytes::float8, changes, to_jsonb(t) -> 'details' as details
     from sluice.ledger_table t where run = $1 order by schema_name, table_name`,
    [run],
  )
  const tables = rows.map(({ details, ...table }): PublishedTable => ({ ...table, ...details }))
  return {
    run,
    attempt: runRows[0].attempt,
    publishedAt: runRows[0].published_at,
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

async function toWarehouseTable(
  client: ClientBase,
  { schema, name }: TablePlace,
  shape: PostgresShape,
): Promise<WarehouseTable> {
  const { lastPublication } = shape
  const history = createColumnHistory(lastPublication?.sourceShape)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...history(column.name),
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
 * Returns the foreign keys of a table and of its default partition, which contains the rows. Loads create no foreign
 * keys, but transformations may.
 */
async function listForeignKeys(client: ClientBase, oid: number): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select a.attname as column, fn.nspname as "referencedSchema", f.relname as "referencedTable",
       fa.attname as "referencedColumn"
     from pg_constraint k join pg_class f on f.oid = k.confrelid join pg_namespace fn on fn.oid = f.relnamespace
     cross join lateral unnest(k.conkey, k.confkey) with ordinality as pair (here, there, position)
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.here
     join pg_attribute fa on fa.attrelid = k.confrelid and fa.attnum = pair.there
     where k.contype = 'f' and k.conparentid = 0
       and k.conrelid in ($1::oid, (select partdefid from pg_partitioned_table where partrelid = $1::oid))
     order by k.conname, pair.position`,
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
    `select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
       and n.nspname not like 'pg\\_%' and n.nspname not like 'sluice%'
     order by n.nspname collate "C", c.relname collate "C"`,
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
    // Collation C compares bytes, which is several times faster.
    `with found as (
       select a.attname, count(*)::int as tables, min(a.attrelid) as relation from pg_attribute a
       where a.attrelid = any (array(
           select c.oid from unnest($1::text[], $2::text[]) as place (schema, name)
           join pg_namespace n on n.nspname = place.schema
           join pg_class c on c.relnamespace = n.oid and c.relname = place.name))
         and a.attnum > 0 and not a.attisdropped
         and starts_with(lower(a.attname::text collate "C"), lower($3::text collate "C"))
       group by a.attname order by a.attname collate "C" limit $4)
     select f.attname::text as "column", n.nspname::text as schema, c.relname::text as "table",
       format_type(a.atttypid, a.atttypmod) as type, f.tables
     from found f join pg_attribute a on a.attrelid = f.relation and a.attname = f.attname
     join pg_class c on c.oid = f.relation join pg_namespace n on n.oid = c.relnamespace
     order by f.attname collate "C"`,
    [places.map(({ schema }) => schema), places.map(({ name }) => name), prefix, limit],
  )
  return rows.map(({ type, ...match }) => ({ ...match, dataType: describeType(type).dataType }))
}

/**
 * Finds the newest staging table of a target table. The comment of a staging table names its target and its run. With
 * `counted`, counts the rows; otherwise returns the server's estimate.
 */
async function findStagingTable(
  client: ClientBase,
  schema: string,
  table: string,
  { counted = false } = {},
): Promise<StagingTable | undefined> {
  const { rows } = await client.query<{ name: string; run: string }>(
    `select c.relname as name, o.origin->>'run' as run
     from pg_class c,
       lateral (select case when obj_description(c.oid, 'pg_class') is json object
                            then obj_description(c.oid, 'pg_class')::jsonb end as origin) o
     where c.relnamespace = to_regnamespace('sluice') and c.relkind = 'r' and not c.relispartition
       and o.origin->>'schema' = $1 and o.origin->>'table' = $2 and o.origin ? 'run'
       and c.relname not in (select partition_name from sluice.kept_table where partition_name is not null)
     order by c.oid desc limit 1`,
    [schema, table],
  )
  const [stagingTable] = rows
  const shape = stagingTable && (await readShape(client, 'sluice', stagingTable.name))
  if (!stagingTable || !shape) return undefined
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
      if (tries === maxEnsureTries || !collisionStates.has(sqlStateOf(error))) throw error
    }
  }
}

/**
 * Returns whether the schema exists with all rights that `ensureSchema` sets: the role `read` may use the schema and
 * will be able to select from its new tables, and new functions of the current role are not executable by everyone.
 */
async function isSchemaReady(client: ClientBase, schema: string, read: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_namespace n
     join pg_default_acl d on d.defaclnamespace = n.oid and d.defaclrole = current_user::regrole and d.defaclobjtype = 'r'
     where n.nspname = $1 and has_schema_privilege($2, n.oid, 'usage')
       and exists (select from aclexplode(d.defaclacl) a where a.grantee = $2::regrole and a.privilege_type = 'SELECT')
       and exists (
         select from pg_default_acl f
         where f.defaclnamespace = 0 and f.defaclrole = current_user::regrole and f.defaclobjtype = 'f'
           and not exists (select from aclexplode(f.defaclacl) a where a.grantee = 0))`,
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
