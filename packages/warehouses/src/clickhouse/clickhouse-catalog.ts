import {
  type Catalog,
  type ColumnNameMatch,
  combineMatches,
  type StagingTable,
  type TablePlace,
  type WarehouseTable,
} from '../catalog.ts'
import { WarehouseProblem } from '../warehouse.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { assertUnread } from './clickhouse-views.ts'
import { executeStatement, rowsOf } from './protocol/http-client.ts'
import { dropKept } from './publishing/replaced-tables.ts'
import {
  checkSchemaName,
  databaseOf,
  formatLiteral,
  qualifyName,
  quoteIdentifier,
  runPrefix,
} from './sql-identifiers.ts'
import { assertTableOwned, hasDatabase } from './staging/staged-table.ts'
import { describeTable, listRelations, listSchemas, parseTableMetadata, readShape } from './table-shape.ts'
import { describeType } from './column-types.ts'

/** Returns the functions that list, describe, create and drop the schemas and tables of a ClickHouse warehouse. */
export function clickHouseCatalog({ access, runOnServer, quoteAllowedName }: ClickHouseServer): Catalog {
  const { service, key } = access
  return {
    listSchemas: () => runOnServer('the warehouse', () => listSchemas(access)),
    async ensureSchema(schema) {
      checkSchemaName(schema)
      const database = databaseOf({ key, schema })
      await runOnServer(`"${schema}"`, () =>
        executeStatement(service, `create database if not exists ${quoteIdentifier(database)}`),
      )
    },
    async dropSchema(schema) {
      checkSchemaName(schema)
      await runOnServer(`"${schema}"`, async () => {
        const database = databaseOf({ key, schema })
        if (!(await hasDatabase(access, database))) return
        const tables = await rowsOf<{ name: string }>(
          service,
          'select name from system.tables where database = {database:String} order by name limit 5',
          { parameters: { database } },
        )
        if (tables.length > 0)
          throw new WarehouseProblem(
            'SCHEMA_NOT_EMPTY',
            `"${schema}" is still in use: ${tables.map(({ name }) => name).join(', ')}. Drop these tables first.`,
          )
        await executeStatement(service, `drop database if exists ${quoteIdentifier(database)}`)
        await dropKept(access, (metadata) => metadata.schema === schema)
      })
    },
    listRelations: (schemas) => runOnServer('the warehouse', () => listRelations(access, schemas)),
    findTable: async (schema, table) =>
      runOnServer(quoteAllowedName(schema, table), () => findTable(access, schema, table)),
    findTables: (places) => runOnServer('the warehouse', () => findTables(access, places)),
    findColumnNames: (places, prefix, limit) =>
      runOnServer('the warehouse', () => findColumnNames(access, { places, prefix, limit })),
    findStagingTable: async (schema, table) =>
      runOnServer(quoteAllowedName(schema, table), () => findStagingTable(access, schema, table)),
    async dropTable(schema, table) {
      const qualifiedName = quoteAllowedName(schema, table)
      await runOnServer(qualifiedName, async () => {
        const database = databaseOf({ key, schema })
        const shape = await readShape(service, database, table)
        if (!shape) return
        assertTableOwned(shape, qualifiedName)
        await assertUnread(access, { schema, name: table }, qualifiedName)
        await executeStatement(service, `drop table if exists ${qualifyName(database, table)}`)
        await dropKept(access, (metadata) => metadata.schema === schema && metadata.table === table)
      })
    },
  }
}

async function findTable(access: ClientAccess, schema: string, name: string): Promise<WarehouseTable | undefined> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return shape && describeTable(access, schema, shape)
}

/** Returns the tables with these names. Skips names without a table. */
async function findTables(access: ClientAccess, places: readonly TablePlace[]): Promise<WarehouseTable[]> {
  const foundTables: WarehouseTable[] = []
  for (const { schema, name } of places) {
    const table = await findTable(access, schema, name)
    if (table) foundTables.push(table)
  }
  return foundTables
}

/**
 * Returns the names of these tables' columns that start with `prefix`, in upper or lower case, with the number of
 * tables that have such a column. Returns at most `limit` names in alphabetical order.
 */
async function findColumnNames(
  { service, key }: ClientAccess,
  { places, prefix, limit }: { places: readonly TablePlace[]; prefix: string; limit: number },
): Promise<ColumnNameMatch[]> {
  const schemaByDatabase = new Map(places.map(({ schema }) => [databaseOf({ key, schema }), schema]))
  if (schemaByDatabase.size === 0) return []
  const requestedTables = new Set(places.map(({ schema, name }) => qualifyName(schema, name)))
  const databases = [...schemaByDatabase.keys()].map(formatLiteral).join(', ')
  const rows = await rowsOf<{ database: string; table: string; column: string; type: string }>(
    service,
    `select database, table, name as column, type from system.columns
     where database in (${databases}) and startsWith(lowerUTF8(name), lowerUTF8({prefix:String}))`,
    { parameters: { prefix } },
  )
  // The rows include other tables of these databases.
  const requestedColumns = rows
    .map(({ database, ...column }) => ({ ...column, schema: schemaByDatabase.get(database)! }))
    .filter(({ schema, table }) => requestedTables.has(qualifyName(schema, table)))
  const matches = requestedColumns.map(({ type, ...column }) => ({
    ...column,
    dataType: describeType(type).dataType,
    tables: 1,
  }))
  // Adds up `tables` for each column name.
  return combineMatches(matches, limit)
}

/**
 * Returns the newest staging table of this table, or undefined if it has none. It has the same name as its target. The
 * metadata in its comment has the target's schema and the run that created it.
 */
async function findStagingTable(
  access: ClientAccess,
  schema: string,
  table: string,
): Promise<StagingTable | undefined> {
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    access.service,
    `select database, name, comment from system.tables
     where startsWith(database, {runPrefix:String}) and name = {table:String}
     order by metadata_modification_time desc`,
    { parameters: { runPrefix: runPrefix(access.key), table } },
  )
  for (const { database, name, comment } of rows) {
    const { schema: targetSchema, run } = parseTableMetadata(comment) ?? {}
    if (targetSchema !== schema || run === undefined) continue
    const shape = await readShape(access.service, database, name)
    if (shape) return { ...(await describeTable(access, database, shape)), run }
  }
  return undefined
}
