import { randomUUID } from 'node:crypto'
import { cannotUndo } from '../warehouse-kinds.ts'
import { acquireQuery } from '../query-limits.ts'
import type { TablePlace } from '../views.ts'
import { type TableLoad, type Warehouse, WarehouseProblem } from '../warehouse.ts'
import {
  findCursor,
  findFeed,
  findStaging,
  findTables,
  listRelations,
  listSchemas,
  sweepStaging,
  describeTable,
} from './sql-catalog.ts'
import { listManagedViews, listReads } from './dependent-views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import { ensureLedger, pruneRuns, findPublication } from './ledger.ts'
import { beginLoad, checkName, assertTableOwned, SqlLoad } from './sql-loader.ts'
import { queryPages, ambiguousTable, query, readTable } from './sql-queries.ts'
import { dropRelation } from './replace-view.ts'
import { problemOf } from './problems.ts'
import { fenceRun, publish } from './publish.ts'
import { exposeStagedRows } from './staged-rows-preview.ts'
import { withPublishLock, recoverPending, inTransactionIfSupported } from './recovery.ts'
import { withSession, readShape, quotePlace } from './table-shape.ts'
import { typeRules } from './staging.ts'
import { transform } from './transform.ts'
import { defineView, assertUnread, dropView, findView, refreshView, listUnmanagedViews } from './sql-views.ts'

/** A client's part of a server whose SQL `dialect` generates. The first use creates or repairs it. */
export function openSqlWarehouse(dialect: Dialect): Warehouse {
  /** The concurrency share of the warehouse's queries: one per warehouse. */
  const share = randomUUID()
  let made: Promise<void> | undefined

  /** Runs once per process; repeated after a failure. */
  const ready = (): Promise<void> =>
    (made ??= provisionWarehouse(dialect).catch((error: unknown) => {
      made = undefined
      throw error
    }))
  /** Relations that sweeps found and that may be under construction, with the time of the first sweep that found each. */
  const unsure = new Map<string, number>()
  const run = async <T>(place: string, work: () => Promise<T>): Promise<T> => {
    try {
      await ready()
      return await work()
    } catch (error) {
      throw problemOf(dialect, error, place)
    }
  }
  const service = <T>(place: string, work: (session: Session) => Promise<T>): Promise<T> =>
    run(place, () =>
      withSession(dialect, { role: 'service' }, async (session) => {
        await recoverPending(dialect, session)
        return work(session)
      }),
    )
  const whole = 'the warehouse'
  const at = (schema: string, name: string): TablePlace => {
    checkName(dialect, 'schema', schema)
    checkName(dialect, 'table', name)
    return { schema, name }
  }
  const placed = async <T>(schema: string, name: string, work: (session: Session, place: TablePlace) => Promise<T>) => {
    const place = at(schema, name)
    return service(quotePlace(place), (session) => work(session, place))
  }

  return {
    check: () => service(whole, async (session) => void (await dialect.catalogue.schemas(session))),
    // Sessions are opened on demand; none stays open.
    connections: () => 0,

    async ensureSchema(schema) {
      checkName(dialect, 'schema', schema)
      await service(`"${schema}"`, async (session) => {
        const settled = dialect.publication === 'NON_TRANSACTIONAL'
        if (!settled && (await listSchemas(dialect, session)).includes(schema)) return
        // Creates the schema and its grants atomically if the server supports it: later calls do not check an existing schema,
        // unless it may lack them.
        await inTransactionIfSupported(dialect, session, async () => {
          for (const statement of dialect.changes.createSchema(schema)) await session.execute(statement)
        })
      })
    },
    async dropSchema(schema) {
      checkName(dialect, 'schema', schema)
      await service(`"${schema}"`, async (session) => {
        if (!(await listSchemas(dialect, session)).includes(schema)) return
        const left = (await dialect.catalogue.relations(session, [schema])).map(({ name }) => name).toSorted()
        if (left.length > 0)
          throw new WarehouseProblem(
            'SCHEMA_NOT_EMPTY',
            `"${schema}" is still in use: ${left.slice(0, 5).join(', ')}. Drop that first.`,
          )
        for (const statement of dialect.changes.dropSchema(schema)) await session.execute(statement)
      })
    },

    beginLoad: (target, signal) => run(whole, () => beginLoad(dialect, target, signal)),
    publish: (loads, stillOurs, signal, options = {}) =>
      publish(dialect, assertSqlLoads(loads), stillOurs, signal, options),
    plan: async () => {
      throw cannotUndo()
    },
    findPrevious: async () => {
      throw cannotUndo()
    },
    restore: async () => {
      throw cannotUndo()
    },
    expirePrevious: async () => 0,
    transform: (loads, statements, signal) => transform(dialect, assertSqlLoads(loads), statements, signal),
    rehearse: (tables, of) => exposeStagedRows(dialect, tables, of),

    findPublication: (id) => service('the ledger', (session) => findPublication(dialect, session, id)),
    closeRun: (id) => run('the ledger', () => fenceRun(dialect, id)),
    findCursor: (schema, table) => placed(schema, table, (session, place) => findCursor(dialect, session, place)),
    findFeed: (schema, table) => placed(schema, table, (session, place) => findFeed(dialect, session, place)),
    typeRules: async () => typeRules(dialect.types),
    findTable: (schema, table) =>
      placed(schema, table, async (session, place) => {
        const shape = await readShape(dialect, session, place)
        return shape && describeTable(dialect, session, shape)
      }),
    async readTable(schema, table, page, limits) {
      const place = at(schema, table)
      return run(quotePlace(place), () => readTable(dialect, place, page, limits))
    },

    async query(given, signal) {
      using _slot = await acquireQuery('queries', share, signal)
      return await run(whole, () => query(dialect, given, signal))
    },
    async *queryPages(given, pageRows, signal) {
      using _slot = await acquireQuery('pushes', share, signal)
      await run(whole, async () => {})
      yield* queryPages(dialect, given, pageRows, signal)
    },
    ambiguousTable: (given, preferred) => run(whole, () => ambiguousTable(dialect, given, preferred)),

    schemas: () => service(whole, (session) => listSchemas(dialect, session)),
    relations: (schemas) => service(whole, (session) => listRelations(dialect, session, schemas)),
    findTables: (places) => service(whole, (session) => findTables(dialect, session, places)),
    findStaging: (schema, table) => placed(schema, table, (session, place) => findStaging(dialect, session, place)),

    defineView: (view, limits, signal) => run(whole, () => defineView(dialect, view, limits, signal)),
    async refreshView(schema, name, signal) {
      const place = at(schema, name)
      return run(quotePlace(place), () => refreshView(dialect, place, signal))
    },
    async dropView(schema, name) {
      const place = at(schema, name)
      await run(quotePlace(place), () => dropView(dialect, place))
    },
    findView: (schema, name) => placed(schema, name, (session, place) => findView(dialect, session, place)),
    viewReads: (schema, name) =>
      placed(schema, name, async (session) => {
        const view = (await listManagedViews(dialect, session)).find(
          (one) => one.schema === schema && one.name === name,
        )
        return view ? listReads(view) : []
      }),
    isManaged: (id) =>
      service(whole, async (session) =>
        (await listManagedViews(dialect, session)).some(({ mark }) => mark.view.id === id),
      ),
    viewsByHand: (schema, name) =>
      placed(schema, name, (session, place) => listUnmanagedViews(dialect, session, place)),

    async dropTable(schema, table) {
      const place = at(schema, table)
      await run(quotePlace(place), () =>
        withPublishLock(dialect, async (hands) => {
          const shape = await readShape(dialect, hands.tables, place)
          if (!shape) return
          assertTableOwned(shape, quotePlace(place))
          await assertUnread(dialect, hands.tables, place)
          await dropRelation(dialect, hands, shape)
        }),
      )
    },
    sweepStaging: (alive) => run(whole, () => sweepStaging(dialect, alive, unsure)),
    pruneLedger: (days) => service('the ledger', (session) => pruneRuns(dialect, session, days)),

    async [Symbol.asyncDispose]() {},
  }
}

async function provisionWarehouse(dialect: Dialect): Promise<void> {
  await dialect.provision()
  await withSession(dialect, { role: 'service' }, (session) => ensureLedger(dialect, session))
}

function assertSqlLoads(loads: readonly TableLoad[]): SqlLoad[] {
  const ours = loads.filter((load) => load instanceof SqlLoad)
  if (ours.length < loads.length) throw new Error('A load of another warehouse cannot be published here.')
  return ours
}
