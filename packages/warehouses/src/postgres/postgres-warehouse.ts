import { escapeIdentifier, type ClientBase } from 'pg'
import { type TableLoad, type Publication, type Warehouse, WarehouseProblem } from '../warehouse.ts'
import { ledgerKey, loadPool, withClient, type WarehouseAccess } from './postgres-connections.ts'
import { ambiguousTable } from './query-planning.ts'
import {
  findCursor,
  findFeed,
  findPublication,
  findTable,
  findStaging,
  findTables,
  relations,
  ensureSchema,
  listSchemas,
} from './postgres-catalog.ts'
import { defineView } from './define-view.ts'
import { flushWal } from './commit-swaps.ts'
import { waitForPublisher } from './ledger.ts'
import { assertLedgerCurrent, pruneLedger } from './ledger-schema.ts'
import { dropKeptIn, dropKeptOf, dropExpired, findKeptPublication, makeRoom } from './kept-tables.ts'
import { beginLoad, tableNotOwned, type PostgresPools, PostgresLoad } from './postgres-loader.ts'
import { findManagedView, listViewReads, listUnmanagedViews } from './managed-views.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { planTables } from './plan-tables.ts'
import { warehouseProblem } from './problems.ts'
import { publish } from './publish.ts'
import { query, queryPages, readTable } from './postgres-queries.ts'
import { exposeStagedRows } from './staged-rows-preview.ts'
import { restore } from './restore.ts'
import { assertRoleSettings } from './role-settings.ts'
import { readShape } from './table-shape.ts'
import { adoptStaged, describeStaged, type StagedLoad } from './staged-loads.ts'
import { sweepStaging } from './postgres-upkeep.ts'
import { transform } from './transform.ts'
import { acquireQuery } from '../query-limits.ts'
import { endReadWatch, limitStatements } from './statement-watch.ts'
import { mostViewBytes, dropView, findView, refreshView } from './postgres-views.ts'
import { typeRules } from './types.ts'
import { asSentence } from '@sluice/process'

/** Timeouts of a drop, which holds an exclusive lock while its transaction is open. */
const shortTimeouts = `set local lock_timeout = '5s'; set local statement_timeout = '10s'`

interface PostgresLimits {
  /** The maximum number of concurrent loads. */
  loads?: number
  /** Bytes of one materialised view, and of the client's database. */
  viewBytes?: number
  databaseBytes?: number | undefined
  /** Milliseconds that staged rows wait for readers of their table. */
  waitMs?: number
  /** The number of days for which replaced tables are kept. */
  keepDays?: number
}

/**
 * Runs one call at a time, so that callers occupy one connection together. Calls with the same argument that are not over yet share their
 * result.
 */
function oneAtATime(work: (most: number) => Promise<number>): (most?: number) => Promise<number> {
  const pending = new Map<number, Promise<number>>()
  let last: Promise<unknown> = Promise.resolve()
  return (most = 0) => {
    const shared = pending.get(most)
    if (shared) return shared
    const result = last.then(() => work(most)).finally(() => pending.delete(most))
    pending.set(most, result)
    last = result.catch(() => {})
    return result
  }
}

/** Two hours: longer than any reader has. */
const readerWaitMs = 7_200_000

/** A client's PostgreSQL, for so many loads at once. Opens no connection before it is used; dispose it to close those that are open. */
export function openPostgresWarehouse(
  access: WarehouseAccess,
  { loads = 4, viewBytes = mostViewBytes, databaseBytes, waitMs = readerWaitMs, keepDays = 0 }: PostgresLimits = {},
): Warehouse {
  const key = ledgerKey(access.load.password)
  const keeping = { days: keepDays, ledgerKey: key }
  // The two more are for a load that was cut off and is not quite gone.
  const pools: PostgresPools = {
    copies: loadPool(access, 2 * loads + 2),
    transactions: loadPool(access, loads + 2),
    statements: loadPool(access, 5),
    databaseBytes,
    makeRoom: oneAtATime((most) => makeRoom(pools.statements, keeping, most)),
  }
  const all = [pools.copies, pools.transactions, pools.statements]
  limitStatements(pools.statements, { databaseBytes, makeRoom: pools.makeRoom })

  const share = access.database

  const run = async <T>(place: string, work: (client: ClientBase) => Promise<T>): Promise<T> =>
    withClient(pools.statements, undefined, work).catch((error: unknown) => {
      throw warehouseProblem(error, { place })
    })

  return {
    check: () =>
      run('the warehouse', async (client) => {
        await assertLedgerCurrent(client)
        await assertRoleSettings(client)
      }),

    connections: () => all.reduce((sum, { totalCount }) => sum + totalCount, 0),

    async ensureSchema(schema) {
      checkSchemaName(schema)
      await ensureSchema(pools.statements, schema, access.read.user).catch((error: unknown) => {
        throw warehouseProblem(error, { place: escapeIdentifier(schema) })
      })
    },

    async dropSchema(schema) {
      checkSchemaName(schema)
      const place = escapeIdentifier(schema)
      await run(place, async (client) => {
        await client.query(`begin; ${shortTimeouts}; drop schema if exists ${place}`)
        await dropKeptIn(client, keeping, schema)
        await client.query('commit')
      }).catch(explainDependents(place, 'SCHEMA_NOT_EMPTY'))
    },

    beginLoad: (target, signal) => beginLoad(pools, target, signal),

    publish: (loads, stillOurs, signal, options = {}) =>
      publish(
        { pools, loads: assertPostgresLoads(loads), read: access.read.user, keeping, stillOurs, options, waitMs },
        signal,
      ),

    describeStaged: (staged, signal) => describeStaged(pools, assertPostgresLoads(staged), signal),

    adoptStaged: (_schema, staged, attempt, signal) => adoptStaged(pools, staged as StagedLoad[], attempt, signal),

    findPrevious: (schema, table) =>
      run(qualified(schema, table), (client) => findKeptPublication(client, { schema, table })),

    restore: (target, stillOurs, signal, options = {}) =>
      restore({ pools, target, read: access.read.user, keeping, stillOurs, options: { ...options, waitMs } }, signal),

    expirePrevious: () => dropExpired(pools.statements, keeping),

    plan: (loads, signal, options = {}) => planTables(pools, assertPostgresLoads(loads), options, signal),

    transform: (loads, statements, signal, options = {}) =>
      transform(pools, assertPostgresLoads(loads), statements, signal, options),

    rehearse: (tables, of) => exposeStagedRows(pools, access, tables, of),

    findPublication: (id) => run('the ledger', (client) => findDurablePublication(client, id)),

    closeRun: (id, attempt) =>
      run('the ledger', async (client) => {
        const found = await findDurablePublication(client, id)
        if (found) return found
        await waitForPublisher(client, key, { run: id, attempt })
        return findDurablePublication(client, id)
      }),

    async findCursor(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return run(qualified(schema, table), (client) => findCursor(client, schema, table))
    },

    async findFeed(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return run(qualified(schema, table), (client) => findFeed(client, schema, table))
    },

    typeRules: async () => typeRules,

    async findTable(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return run(qualified(schema, table), (client) => findTable(client, schema, table))
    },

    readTable: (schema, table, page, limits) => readTable(access, schema, table, page, limits),

    async query(asked, signal) {
      using _slot = await acquireQuery('queries', share, signal)
      return await query(access, asked, signal)
    },

    async *queryPages(asked, pageRows, signal) {
      using _slot = await acquireQuery('pushes', share, signal)
      yield* queryPages(access, asked, pageRows, signal)
    },

    ambiguousTable: (asked, preferred, signal) => ambiguousTable(access, asked, preferred, signal),

    schemas: () => run('the warehouse', listSchemas),

    defineView: (view, limits, signal) => defineView(pools, view, { ...limits, mostBytes: viewBytes }, signal),

    refreshView: (schema, name, signal) => refreshView(pools, { schema, name }, signal, { mostBytes: viewBytes }),

    async dropView(schema, name) {
      const place = qualified(schema, name)
      await run(place, (client) => dropView(client, schema, name)).catch(explainDependents(place, 'VIEWS_DEPEND'))
    },

    findView: (schema, name) => run(qualified(schema, name), (client) => findView(client, schema, name)),

    viewReads: (schema, name) => run(qualified(schema, name), (client) => listViewReads(client, { schema, name })),

    isManaged: (id) => run('the warehouse', async (client) => (await findManagedView(client, id)) !== undefined),
    viewsByHand: (schema, name) =>
      run(qualified(schema, name), (client) => listUnmanagedViews(client, { schema, name })),

    relations: (schemas) => run('the warehouse', (client) => relations(client, schemas)),

    findTables: (places) => run('the warehouse', (client) => findTables(client, places)),

    findStaging: (schema, table, options) =>
      run(qualified(schema, table), (client) => findStaging(client, schema, table, options)),

    async dropTable(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      const place = qualified(schema, table)
      await run(place, async (client) => {
        await client.query(`begin; ${shortTimeouts}`)
        const shape = await readShape(client, schema, table)
        if (shape && !shape.ours) throw tableNotOwned({ place })
        await client.query(`drop table if exists ${place}`)
        await dropKeptOf(client, keeping, [{ schema, table }])
        await client.query('commit')
      }).catch(explainDependents(place, 'VIEWS_DEPEND'))
    },

    sweepStaging: (alive) => sweepStaging(pools.statements, alive),

    pruneLedger: (days) => run('the ledger', (client) => pruneLedger(client, days)),

    async [Symbol.asyncDispose]() {
      await Promise.all([...all.map((pool) => pool.end()), endReadWatch(access)])
    },
  }
}

/** Returns a publication only once it is durable: the worker that committed it may have died before the WAL was flushed. */
async function findDurablePublication(client: ClientBase, run: string): Promise<Publication | undefined> {
  const found = await findPublication(client, run)
  if (found) await flushWal(client)
  return found
}

function assertPostgresLoads(loads: readonly TableLoad[]): PostgresLoad[] {
  const ours = loads.filter((load) => load instanceof PostgresLoad)
  if (ours.length < loads.length) throw new Error('A load of another warehouse cannot be published here.')
  return ours
}

/** Something hangs on what was to be dropped: say what. */
function explainDependents(place: string, code: 'SCHEMA_NOT_EMPTY' | 'VIEWS_DEPEND') {
  return (error: unknown): never => {
    const cause = (error as Error).cause as { code?: string; detail?: string } | undefined
    if (cause?.code !== '2BP01') throw error
    throw new WarehouseProblem(code, `${place} is still in use: ${asSentence(cause.detail ?? '')} Drop that first.`, {
      cause,
    })
  }
}
