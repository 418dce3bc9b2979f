import { WarehouseProblem } from '../warehouse.ts'
import {
  type Catalog,
  type ColumnNameMatch,
  combineMatches,
  type StagingTable,
  type TablePlace,
  type WarehouseTable,
} from '../catalog.ts'
import { readMetadata } from './publication-ledger.ts'
import { inTransactionIfSupported, withPublishLock } from './publication-recovery.ts'
import { dropRelation } from './views/replace-view.ts'
import type { SqlDialect, SqlSession } from './sql-dialect.ts'
import type { SqlSessions } from './sql-sessions.ts'
import { assertNoViewReads } from './sql-views.ts'
import { assertTableOwned } from './staging/staged-table.ts'
import {
  checkName,
  describeTable,
  listRelations,
  listSchemas,
  placeKey,
  quotePlace,
  readShape,
  shapeOf,
} from './table-shape.ts'

export function sqlCatalog({ dialect, runOnServer, withServiceSession, parsePlace, withTable }: SqlSessions): Catalog {
  return {
    listSchemas: () => withServiceSession('the warehouse', (session) => listSchemas(dialect, session)),
    async ensureSchema(schema) {
      checkName(dialect, 'schema', schema)
      await withServiceSession(`"${schema}"`, async (session) => {
        // A server with transactional DDL creates a schema together with its grants. On other servers, a crash can
        // leave a schema without grants, so the statements also run for an existing schema.
        const isTransactional = dialect.publication !== 'NON_TRANSACTIONAL'
        if (isTransactional && (await listSchemas(dialect, session)).includes(schema)) return
        await inTransactionIfSupported(dialect, session, async () => {
          for (const statement of dialect.changes.createSchema(schema)) await session.execute(statement)
        })
      })
    },
    async dropSchema(schema) {
      checkName(dialect, 'schema', schema)
      await withServiceSession(`"${schema}"`, async (session) => {
        if (!(await listSchemas(dialect, session)).includes(schema)) return
        const relationNames = (await dialect.catalogue.relations(session, [schema])).map(({ name }) => name).toSorted()
        if (relationNames.length > 0)
          throw new WarehouseProblem(
            'SCHEMA_NOT_EMPTY',
            `"${schema}" is still in use: ${relationNames.slice(0, 5).join(', ')}. Drop these tables first.`,
          )
        for (const statement of dialect.changes.dropSchema(schema)) await session.execute(statement)
      })
    },
    listRelations: (schemas) =>
      withServiceSession('the warehouse', (session) => listRelations(dialect, session, schemas)),
    findTable: (schema, table) =>
      withTable(schema, table, async (session, place) => {
        const shape = await readShape(dialect, session, place)
        return shape && describeTable(dialect, session, shape)
      }),
    findTables: (places) => withServiceSession('the warehouse', (session) => findTables(dialect, session, places)),
    findColumnNames: (places, prefix, limit) =>
      withServiceSession('the warehouse', (session) => findColumnNames(dialect, session, { places, prefix, limit })),
    findStagingTable: (schema, table) =>
      withTable(schema, table, (session, place) => findStagingTable(dialect, session, place)),
    async dropTable(schema, table) {
      const place = parsePlace(schema, table)
      await runOnServer(quotePlace(place), () =>
        withPublishLock(dialect, async (sessions) => {
          const shape = await readShape(dialect, sessions.tables, place)
          if (!shape) return
          assertTableOwned(shape, quotePlace(place))
          await assertNoViewReads(dialect, sessions.tables, place)
          await dropRelation(dialect, sessions, shape)
        }),
      )
    },
  }
}

/** Returns the tables with these names. Skips names without a table. */
async function findTables(
  dialect: SqlDialect,
  session: SqlSession,
  places: readonly TablePlace[],
): Promise<WarehouseTable[]> {
  if (places.length === 0) return []
  const metadataById = await readMetadata(dialect, session)
  const schemas = [...new Set(places.map(({ schema }) => schema))]
  const relations = await dialect.catalogue.relations(session, schemas)
  const relationByPlace = new Map(relations.map((relation) => [placeKey(relation), relation]))
  const tables: WarehouseTable[] = []
  for (const place of places) {
    const relation = relationByPlace.get(placeKey(place))
    if (!relation) continue
    const shape = await shapeOf(dialect, session, relation, metadataById)
    tables.push(await describeTable(dialect, session, shape))
  }
  return tables
}

/** See `Catalog.findColumnNames`. */
async function findColumnNames(
  dialect: SqlDialect,
  session: SqlSession,
  { places, prefix, limit }: { places: readonly TablePlace[]; prefix: string; limit: number },
): Promise<ColumnNameMatch[]> {
  const requestedTables = new Set(places.map(placeKey))
  const schemas = [...new Set(places.map(({ schema }) => schema))]
  const columns = await dialect.catalogue.columnNames(session, schemas, prefix)
  const matches = columns
    .filter(({ schema, table }) => requestedTables.has(placeKey({ schema, name: table })))
    .map(({ type, ...match }) => ({ ...match, dataType: dialect.types.describe(type).dataType, tables: 1 }))
  return combineMatches(matches, limit)
}

/** Returns the newest staging table of this table, or undefined if it has none. */
async function findStagingTable(
  dialect: SqlDialect,
  session: SqlSession,
  { schema, name }: TablePlace,
): Promise<StagingTable | undefined> {
  const metadataById = await readMetadata(dialect, session)
  const stagedTables = (await dialect.catalogue.relations(session, [schema]))
    .flatMap((relation) => {
      const metadata = metadataById.get(relation.id)
      if (metadata?.kind !== 'STAGING' || metadata.run === undefined) return []
      const [targetSchema, targetTable] = metadata.target ?? []
      const isOfTable = targetSchema === schema && targetTable === name
      return isOfTable ? [{ relation, metadata, run: metadata.run }] : []
    })
    .toSorted((one, other) => (other.metadata.madeAt ?? 0) - (one.metadata.madeAt ?? 0))
  const [newest] = stagedTables
  if (!newest) return undefined
  const shape = await shapeOf(dialect, session, newest.relation, metadataById)
  return { ...(await describeTable(dialect, session, shape)), run: newest.run }
}
