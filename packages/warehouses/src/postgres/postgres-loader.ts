import type { ClientBase } from 'pg'
import type { Loader } from '../loader.ts'
import type { Publication, StagedTable } from '../warehouse.ts'
import { flushWal } from './publishing/commit-swaps.ts'
import { findKeptPublication } from './publishing/replaced-tables.ts'
import { waitForPublisher } from './publishing/publication-ledger.ts'
import { checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { planTables } from './publishing/describe-planned-changes.ts'
import { findLastLoad, findPublication } from './postgres-catalog.ts'
import type { PostgresServer } from './postgres-server.ts'
import { publishRun } from './publishing/publish-run.ts'
import { restoreKeptTables } from './publishing/restore.ts'
import { adoptStaged, describeStaged, type StagedLoad } from './publishing/staged-loads.ts'
import { exposeStagedRows } from './publishing/staged-rows-preview.ts'
import { PostgresStagedTable, stageTable } from './staged-table.ts'
import { runTransformation } from './transformation/run-transformation.ts'
import { typeRules } from './column-types.ts'

/** Returns the loader of a PostgreSQL warehouse: it stages, checks, publishes and restores the tables of runs. */
export function postgresLoader({ access, pools, retention, waitMs, run }: PostgresServer): Loader {
  const readRole = access.read.user

  return {
    stage: (target, signal) => stageTable(pools, target, signal),
    transform: (tables, statements, signal, options = {}) =>
      runTransformation(pools, postgresTables(tables), statements, signal, options),
    exposeStagedRows: (tables, attempt) => exposeStagedRows(pools, access, tables, attempt),
    publish: (tables, isCurrentAttempt, signal, options = {}) =>
      publishRun(
        { pools, loads: postgresTables(tables), readRole, retention, isCurrentAttempt, options, waitMs },
        signal,
      ),
    plan: (tables, signal, options = {}) => planTables(pools, postgresTables(tables), options, signal),
    describeStaged: (tables, signal) => describeStaged(pools, postgresTables(tables), signal),
    adoptStaged: (_schema, staged, attempt, signal) => adoptStaged(pools, staged as StagedLoad[], attempt, signal),
    findPublication: (id) => run('the ledger', (client) => findDurablePublication(client, id)),
    fenceRun: (id, attempt) =>
      run('the ledger', async (client) => {
        const publication = await findDurablePublication(client, id)
        if (publication) return publication
        // This attempt or an earlier one may be publishing the run at this moment.
        await waitForPublisher(client, retention.ledgerKey, { run: id, attempt })
        return findDurablePublication(client, id)
      }),
    async findLastLoad(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return run(qualifyName(schema, table), (client) => findLastLoad(client, schema, table))
    },
    typeRules: async () => typeRules,
    findPrevious: (schema, table) =>
      run(qualifyName(schema, table), async (client) => {
        const keptPublication = await findKeptPublication(client, { schema, table })
        return keptPublication && { run: keptPublication.publishedBy, publishedAt: keptPublication.publishedAt }
      }),
    restore: (target, isCurrentAttempt, signal, options = {}) =>
      restoreKeptTables(
        { pools, target, readRole, retention, isCurrentAttempt, options: { ...options, waitMs } },
        signal,
      ),
  }
}

/**
 * Finds the publication of a run and returns it only once it is durable. The worker that committed it may have died
 * before the WAL was flushed.
 */
async function findDurablePublication(client: ClientBase, run: string): Promise<Publication | undefined> {
  const publication = await findPublication(client, run)
  if (publication) await flushWal(client)
  return publication
}

/**
 * Returns the tables with their PostgreSQL type. Throws if one of them was staged in a warehouse of another provider.
 */
function postgresTables(tables: readonly StagedTable[]): PostgresStagedTable[] {
  const stagedTables = tables.filter((table) => table instanceof PostgresStagedTable)
  if (stagedTables.length < tables.length)
    throw new Error('A table that was staged in another warehouse cannot be published in this one.')
  return stagedTables
}
