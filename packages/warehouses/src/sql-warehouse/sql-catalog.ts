import { WarehouseProblem } from '../warehouse.ts'
import {
  type Catalog,
  type ColumnNameMatch,
  combineMatches,
  type StagingTable,
  type TablePlace,
  type WarehouseTable,
} from '../catalog.ts'
import { readMarks } from './ledger.ts'
import { inTransactionIfSupported, withPublishLock } from './recovery.ts'
import { dropRelation } from './views/replace-view.ts'
import type { CatalogRelation, SqlDialect, SqlSession } from './sql-dialect.ts'
import type { SqlSessions } from './sql-sessions.ts'
import { assertUnread } from './sql-views.ts'
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

export function sqlCatalog({ dialect, run, withService, placeOf, atPlace }: SqlSessions): Catalog {
  return {
    listSchemas: () => withService('the warehouse', (session) => listSchemas(dialect, session)),
    async ensureSchema(schema) {
      checkName(dialect, 'schema', schema)
      await withService(`"${schema}"`, async (session) => {
        const isTransactional = dialect.publication !== 'NON_TRANSACTIONAL'
        if (isTransactional && (await listSchemas(dialect, session)).includes(schema)) return
        // Creates the schema and its grants atomically, if the server can. Otherwise a crash could leave a schema
        // without grants, and later calls check an existing schema only if its grants may be missing.
        await inTransactionIfSupported(dialect, session, async () => {
          for (const statement of dialect.changes.createSchema(schema)) await session.execute(statement)
        })
      })
    },
    async dropSchema(schema) {
      checkName(dialect, 'schema', schema)
      await withService(`"${schema}"`, async (session) => {
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
    listRelations: (schemas) => withService('the warehouse', (session) => listRelations(dialect, session, schemas)),
    findTable: (schema, table) =>
      atPlace(schema, table, async (session, place) => {
        const shape = await readShape(dialect, session, place)
        return shape && describeTable(dialect, session, shape)
      }),
    findTables: (places) => withService('the warehouse', (session) => findTables(dialect, session, places)),
    findColumnNames: (places, prefix, limit) =>
      withService('the warehouse', (session) => findColumnNames(dialect, session, { places, prefix, limit })),
    findStagingTable: (schema, table) =>
      atPlace(schema, table, (session, place) => findStagingTable(dialect, session, place)),
    async dropTable(schema, table) {
      const place = placeOf(schema, table)
      await run(quotePlace(place), () =>
        withPublishLock(dialect, async (sessions) => {
          const shape = await readShape(dialect, sessions.tables, place)
          if (!shape) return
          assertTableOwned(shape, quotePlace(place))
          await assertUnread(dialect, sessions.tables, place)
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
  const marks = await readMarks(dialect, session)
  const byPlace = new Map<string, CatalogRelation>()
  for (const relation of await dialect.catalogue.relations(session, [...new Set(places.map(({ schema }) => schema))]))
    byPlace.set(placeKey(relation), relation)
  const foundTables: WarehouseTable[] = []
  for (const place of places) {
    const relation = byPlace.get(placeKey(place))
    if (relation)
      foundTables.push(await describeTable(dialect, session, await shapeOf(dialect, session, relation, marks)))
  }
  return foundTables
}

async function findColumnNames(
  dialect: SqlDialect,
  session: SqlSession,
  { places, prefix, limit }: { places: readonly TablePlace[]; prefix: string; limit: number },
): Promise<ColumnNameMatch[]> {
  const requestedTables = new Set(places.map(placeKey))
  const schemas = [...new Set(places.map(({ schema }) => schema))]
  const matches = (await dialect.catalogue.columnNames(session, schemas, prefix))
    .filter(({ schema, table }) => requestedTables.has(placeKey({ schema, name: table })))
    .map(({ type, ...match }) => ({ ...match, dataType: dialect.types.describe(type).dataType, tables: 1 }))
  return combineMatches(matches, limit)
}

/** Returns the newest staging table for this table. */
async function findStagingTable(
  dialect: SqlDialect,
  session: SqlSession,
  { schema, name }: TablePlace,
): Promise<StagingTable | undefined> {
  const marks = await readMarks(dialect, session)
  const stagedTables = (await dialect.catalogue.relations(session, [schema]))
    .flatMap((relation) => {
      const mark = marks.get(relation.id)
      const matches = mark?.kind === 'STAGING' && mark.target?.[0] === schema && mark.target[1] === name
      return matches && mark.run !== undefined ? [{ relation, mark, run: mark.run }] : []
    })
    .toSorted((one, other) => (other.mark.madeAt ?? 0) - (one.mark.madeAt ?? 0))
  const [newest] = stagedTables
  if (!newest) return undefined
  const shape = await shapeOf(dialect, session, newest.relation, marks)
  return { ...(await describeTable(dialect, session, shape)), run: newest.run }
}
