import { type TableLoad, type Warehouse, WarehouseProblem } from '../warehouse.ts'
import { acquireQuery } from '../query-limits.ts'
import { type ClientAccess, provision } from './clickhouse-settings.ts'
import {
  findCursor,
  findFeed,
  findStaging,
  findTable,
  findTables,
  listSchemas,
  pruneLedger,
  relations,
  sweepStaging,
} from './clickhouse-catalog.ts'
import { execute, rowsOf } from './http.ts'
import { dropKept, expireKept, findPrevious } from './kept-tables.ts'
import { findPublication, publishedFirst } from './ledger.ts'
import { beginLoad, ClickHouseLoad, assertTableOwned, hasDatabase } from './clickhouse-loader.ts'
import { checkSchemaName, checkTableName, databaseOf, qualified, quoted, quotePlace } from './names.ts'
import { planTables, fenceRun, publish } from './publish.ts'
import { warehouseProblem } from './problems.ts'
import { ambiguousTable, query, queryPages, readTable } from './clickhouse-queries.ts'
import { exposeStagedRows, listViewReads } from './staged-rows-preview.ts'
import { restore } from './restore.ts'
import { dropRevokedDecisions, recoverPending, ignoreBusy } from './recovery.ts'
import { readShape } from './table-shape.ts'
import { transform } from './transform.ts'
import { typeRules } from './types.ts'
import {
  defineView,
  assertUnread,
  dropView,
  findView,
  findManagedViews,
  refreshView,
  listUnmanagedViews,
} from './clickhouse-views.ts'

/**
 * A client's part of a ClickHouse server: one database for each of its schemas. The first use creates or repairs it, and finishes
 * publications that a dead worker had decided, before it runs any other statement.
 */
export function openClickHouseWarehouse(access: ClientAccess, { keepDays = 0 } = {}): Warehouse {
  const share = `clickhouse ${access.key}`
  let made: Promise<void> | undefined

  /** Runs once per process; repeated after a failure. */
  const ready = (): Promise<void> =>
    (made ??= provision(access).catch((error: unknown) => {
      made = undefined
      throw error
    }))

  const run = async <T>(place: string, work: () => Promise<T>): Promise<T> => {
    await ready()
    return work().catch((error: unknown) => {
      throw warehouseProblem(error, place)
    })
  }
  const whole = 'the warehouse'
  const settled = async <T>(place: string, work: () => Promise<T>): Promise<T> =>
    run(place, async () => {
      await recoverPending(access).catch(ignoreBusy)
      return work()
    })
  const named = (schema: string, table: string): string => {
    checkSchemaName(schema)
    checkTableName(table)
    return quotePlace(schema, table)
  }
  const { service, key } = access

  return {
    async check() {
      await ready()
      await run(whole, () => execute(service, 'select 1'))
    },
    // Requests open their own connections and keep no state at the server.
    connections: () => 0,

    async ensureSchema(schema) {
      checkSchemaName(schema)
      const database = databaseOf({ key, schema })
      await run(`"${schema}"`, () => execute(service, `create database if not exists ${quoted(database)}`))
    },

    async dropSchema(schema) {
      checkSchemaName(schema)
      await run(`"${schema}"`, async () => {
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
            `"${schema}" is still in use: ${tables.map(({ name }) => name).join(', ')}. Drop that first.`,
          )
        await execute(service, `drop database if exists ${quoted(database)}`)
        await dropKept(access, (mark) => mark.schema === schema)
      })
    },

    async beginLoad(target, signal) {
      signal.throwIfAborted()
      await ready()
      return beginLoad(access, target)
    },
    publish: (loads, stillOurs, signal, options = {}) =>
      publish(access, assertClickHouseLoads(loads), stillOurs, signal, { ...options, keepDays }),
    findPrevious: (schema, table) =>
      settled(named(schema, table), async () => {
        const previous = await findPrevious(access, { schema, table })
        const { replaced } = previous?.tables.find((one) => one.table === table && one.schema === schema) ?? {}
        const publishedAt = await publishedFirst(access, replaced?.mark?.load)
        return publishedAt && { publishedAt }
      }),
    restore: async (target, stillOurs, signal, options = {}) => {
      await ready()
      return restore(access, { target, stillOurs, options, keepDays }, signal)
    },
    expirePrevious: () => settled(whole, () => expireKept(access, keepDays)),
    plan: (loads, signal, options = {}) => planTables(access, assertClickHouseLoads(loads), options, signal),
    transform: (loads, statements, signal) => transform(access, assertClickHouseLoads(loads), statements, signal),
    rehearse: (tables, of) => exposeStagedRows(access, tables, of),

    findPublication: (id) => settled('the ledger', () => findPublication(access, id)),
    closeRun: (id, attempt) => run('the ledger', () => fenceRun(access, { run: id, attempt })),
    findCursor: (schema, table) => settled(named(schema, table), () => findCursor(access, schema, table)),
    findFeed: (schema, table) => settled(named(schema, table), () => findFeed(access, schema, table)),
    typeRules: async () => typeRules,
    findTable: async (schema, table) => run(named(schema, table), () => findTable(access, schema, table)),
    readTable: async (schema, table, page, limits) =>
      run(whole, () => readTable(access, { schema, table }, page, limits)),

    async query(asked, signal) {
      using _slot = await acquireQuery('queries', share, signal)
      return await run(whole, () => query(access, asked, signal))
    },
    async *queryPages(asked, pageRows, signal) {
      using _slot = await acquireQuery('pushes', share, signal)
      await ready()
      yield* queryPages(access, asked, pageRows, signal)
    },
    ambiguousTable: (asked, preferred) => run(whole, () => ambiguousTable(access, asked, preferred)),

    schemas: () => run(whole, () => listSchemas(access)),
    relations: (schemas) => run(whole, () => relations(access, schemas)),
    findTables: (places) => run(whole, () => findTables(access, places)),
    findStaging: (schema, table) => run(named(schema, table), () => findStaging(access, schema, table)),

    defineView: (view, limits, signal) => run(whole, () => defineView(access, view, limits, signal)),
    refreshView: (schema, name, signal) => run(named(schema, name), () => refreshView(access, schema, name, signal)),
    dropView: (schema, name) => run(named(schema, name), () => dropView(access, schema, name)),
    findView: (schema, name) => run(named(schema, name), () => findView(access, schema, name)),
    viewReads: (schema, name) =>
      run(named(schema, name), async () => (await listViewReads(access)).get(JSON.stringify([schema, name])) ?? []),
    isManaged: (id) => run(whole, async () => (await findManagedViews(access, id)).length > 0),
    viewsByHand: (schema, name) => run(named(schema, name), () => listUnmanagedViews(access, { schema, name })),

    async dropTable(schema, table) {
      const place = named(schema, table)
      await run(place, async () => {
        const database = databaseOf({ key, schema })
        const shape = await readShape(service, database, table)
        if (!shape) return
        assertTableOwned(shape, place)
        await assertUnread(access, { schema, name: table }, place)
        await execute(service, `drop table if exists ${qualified(database, table)}`)
        await dropKept(access, (mark) => mark.schema === schema && mark.table === table)
      })
    },

    sweepStaging: (alive) =>
      settled(whole, async () => {
        await dropRevokedDecisions(access)
        return sweepStaging(access, alive, keepDays)
      }),
    pruneLedger: (days) => settled('the ledger', () => pruneLedger(access, days)),

    async [Symbol.asyncDispose]() {},
  }
}

function assertClickHouseLoads(loads: readonly TableLoad[]): ClickHouseLoad[] {
  const ours = loads.filter((load) => load instanceof ClickHouseLoad)
  if (ours.length < loads.length) throw new Error('A load of another warehouse cannot be published here.')
  return ours
}
