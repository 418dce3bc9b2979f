import { randomUUID } from 'node:crypto'
import { cannotUndo } from '../kinds.ts'
import { acquireQuery } from '../query-limits.ts'
import type { Place } from '../views.ts'
import { type Load, type Warehouse, WarehouseProblem } from '../warehouse.ts'
import {
  findCursor,
  findFeed,
  findStaging,
  findTables,
  ownRelations,
  ownSchemas,
  sweepStaging,
  tableOf,
} from './sql-catalog.ts'
import { keptViews, readsOf } from './dependent-views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import { ensureLedger, pruneRuns, publishedBy } from './ledger.ts'
import { beginLoad, check, demandOurs, DialectLoad } from './sql-loader.ts'
import { queryPages } from './sql-queries.ts'
import { forget } from './replace-view.ts'
import { problemOf } from './problems.ts'
import { closeRun, publish } from './publish.ts'
import { ambiguousTable, query, readTable } from './sql-queries.ts'
import { rehearse } from './staged-rows-preview.ts'
import { inTurn, settleFirst, together } from './recovery.ts'
import { asked, readShape, shownAs } from './table-shape.ts'
import { typeRules } from './staging.ts'
import { transform } from './transform.ts'
import { defineView, demandUnread, dropView, findView, refreshView, viewsByHand } from './sql-views.ts'

/** A client's part of a server that speaks SQL as `dialect` says. It is made, or mended, when it is used first. */
export function openDialectWarehouse(dialect: Dialect): Warehouse {
  /** In which its queries run: one warehouse, one share. */
  const share = randomUUID()
  let made: Promise<void> | undefined

  /** Once in this process; again where it failed. */
  const ready = (): Promise<void> =>
    (made ??= provisioned(dialect).catch((error: unknown) => {
      made = undefined
      throw error
    }))
  /** What sweeps found that may have been in the making, and when the first of them did. */
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
      asked(dialect, { role: 'service' }, async (session) => {
        await settleFirst(dialect, session)
        return work(session)
      }),
    )
  const whole = 'the warehouse'
  const at = (schema: string, name: string): Place => {
    check(dialect, 'schema', schema)
    check(dialect, 'table', name)
    return { schema, name }
  }
  const placed = async <T>(schema: string, name: string, work: (session: Session, place: Place) => Promise<T>) => {
    const place = at(schema, name)
    return service(shownAs(place), (session) => work(session, place))
  }

  return {
    check: () => service(whole, async (session) => void (await dialect.catalogue.schemas(session))),
    // Sessions come and go; none is kept.
    connections: () => 0,

    async ensureSchema(schema) {
      check(dialect, 'schema', schema)
      await service(`"${schema}"`, async (session) => {
        const settled = dialect.publication === 'SETTLED'
        if (!settled && (await ownSchemas(dialect, session)).includes(schema)) return
        // With its rights, or not at all: one that is there is not looked at again, unless it may have come without them.
        await together(dialect, session, async () => {
          for (const statement of dialect.changes.createSchema(schema)) await session.execute(statement)
        })
      })
    },
    async dropSchema(schema) {
      check(dialect, 'schema', schema)
      await service(`"${schema}"`, async (session) => {
        if (!(await ownSchemas(dialect, session)).includes(schema)) return
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
    publish: (loads, stillOurs, signal, options = {}) => publish(dialect, ourOwn(loads), stillOurs, signal, options),
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
    transform: (loads, statements, signal) => transform(dialect, ourOwn(loads), statements, signal),
    rehearse: (tables, of) => rehearse(dialect, tables, of),

    findPublication: (id) => service('the ledger', (session) => publishedBy(dialect, session, id)),
    closeRun: (id) => run('the ledger', () => closeRun(dialect, id)),
    findCursor: (schema, table) => placed(schema, table, (session, place) => findCursor(dialect, session, place)),
    findFeed: (schema, table) => placed(schema, table, (session, place) => findFeed(dialect, session, place)),
    typeRules: async () => typeRules(dialect.types),
    findTable: (schema, table) =>
      placed(schema, table, async (session, place) => {
        const shape = await readShape(dialect, session, place)
        return shape && tableOf(dialect, session, shape)
      }),
    async readTable(schema, table, page, limits) {
      const place = at(schema, table)
      return run(shownAs(place), () => readTable(dialect, place, page, limits))
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

    schemas: () => service(whole, (session) => ownSchemas(dialect, session)),
    relations: (schemas) => service(whole, (session) => ownRelations(dialect, session, schemas)),
    findTables: (places) => service(whole, (session) => findTables(dialect, session, places)),
    findStaging: (schema, table) => placed(schema, table, (session, place) => findStaging(dialect, session, place)),

    defineView: (view, limits, signal) => run(whole, () => defineView(dialect, view, limits, signal)),
    async refreshView(schema, name, signal) {
      const place = at(schema, name)
      return run(shownAs(place), () => refreshView(dialect, place, signal))
    },
    async dropView(schema, name) {
      const place = at(schema, name)
      await run(shownAs(place), () => dropView(dialect, place))
    },
    findView: (schema, name) => placed(schema, name, (session, place) => findView(dialect, session, place)),
    viewReads: (schema, name) =>
      placed(schema, name, async (session) => {
        const view = (await keptViews(dialect, session)).find((one) => one.schema === schema && one.name === name)
        return view ? readsOf(view) : []
      }),
    isManaged: (id) =>
      service(whole, async (session) => (await keptViews(dialect, session)).some(({ mark }) => mark.view.id === id)),
    viewsByHand: (schema, name) => placed(schema, name, (session, place) => viewsByHand(dialect, session, place)),

    async dropTable(schema, table) {
      const place = at(schema, table)
      await run(shownAs(place), () =>
        inTurn(dialect, async (hands) => {
          const shape = await readShape(dialect, hands.tables, place)
          if (!shape) return
          demandOurs(shape, shownAs(place))
          await demandUnread(dialect, hands.tables, place)
          await forget(dialect, hands, shape)
        }),
      )
    },
    sweepStaging: (alive) => run(whole, () => sweepStaging(dialect, alive, unsure)),
    pruneLedger: (days) => service('the ledger', (session) => pruneRuns(dialect, session, days)),

    async [Symbol.asyncDispose]() {},
  }
}

async function provisioned(dialect: Dialect): Promise<void> {
  await dialect.provision()
  await asked(dialect, { role: 'service' }, (session) => ensureLedger(dialect, session))
}

function ourOwn(loads: readonly Load[]): DialectLoad[] {
  const ours = loads.filter((load) => load instanceof DialectLoad)
  if (ours.length < loads.length) throw new Error('A load of another warehouse cannot be published here.')
  return ours
}
