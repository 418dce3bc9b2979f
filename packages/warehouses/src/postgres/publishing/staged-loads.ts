import { type ClientBase, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { idleTransactionTimeout } from './ledger.ts'
import { PostgresStagedTable, readLoadShapes } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { listOlderSnapshots } from '../copy/older-snapshots.ts'
import { warehouseProblem } from '../problems.ts'
import { commentOnStaging, parseStagingComment } from '../staging-table-ddl.ts'

/** The data, besides the rows, that a later attempt needs to publish a staged load. Stored as JSON. */
export interface StagedLoad
  extends Pick<
    PostgresStagedTable,
    'target' | 'planned' | 'written' | 'older' | 'transformed' | 'profile' | 'held' | 'reading' | 'brought'
  > {
  oid: number
  /** The file node of the staging table. It changes whenever the rows are rewritten. */
  file: number
}

/** SQLSTATEs that stop the adoption: the table is missing, or another session holds a lock on it for too long. */
const unavailableCodes = new Set(['42P01', '55P03', '40P01'])

export async function describeStaged(
  { transactions }: PostgresPools,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<StagedLoad[]> {
  await withClient(transactions, signal, (client) => readLoadShapes(client, loads)).catch((error: unknown) => {
    signal.throwIfAborted()
    throw warehouseProblem(error, loads[0]!.problemContext)
  })
  return loads.map((load) => {
    const { target, planned, written, older, transformed, profile, held, reading } = load
    const { oid, file, columns } = load.shapes!.staging
    // A publication may add columns that only the published table has. A later attempt must know which columns the load
    // itself wrote.
    load.brought = columns.map(({ name }) => name)
    const { brought } = load
    return { target, planned, written, older, transformed, profile, held, reading, oid, file, brought }
  })
}

/**
 * See `Loader.adoptStaged`. Renames the staging tables, so that the earlier attempt can no longer publish or drop them.
 */
export async function adoptStaged(
  pools: PostgresPools,
  staged: readonly StagedLoad[],
  attempt: number,
  signal: AbortSignal,
): Promise<PostgresStagedTable[] | undefined> {
  const adopted = staged.map(({ oid, file, target, planned, ...written }) => {
    const load = new PostgresStagedTable(pools, { ...target, attempt }, planned)
    return { oid, file, load: Object.assign(load, written) }
  })
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      // A hanging attempt may hold locks on the staging tables until `idleTransactionTimeout` ends its transaction.
      await client.query(`begin; set local lock_timeout = '30s'; ${idleTransactionTimeout}`)
      for (const adoptedLoad of adopted)
        if (!(await renameForAttempt(client, adoptedLoad))) {
          await client.query('rollback')
          return undefined
        }
      await client.query('commit')
      return adopted.map(({ load }) => load)
    })
  } catch (error) {
    if (unavailableCodes.has((error as { code?: string }).code ?? '')) return undefined
    signal.throwIfAborted()
    throw warehouseProblem(error, { qualifiedName: 'the warehouse' })
  }
}

/**
 * Renames a staging table to the name for this attempt. Returns false if the table is missing, incomplete, published,
 * kept for a restore, contains merged rows, or belongs to a later attempt.
 */
async function renameForAttempt(
  client: ClientBase,
  { oid, file, load }: { oid: number; file: number; load: PostgresStagedTable },
): Promise<boolean> {
  const { rows: tableRows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where oid = $1::int8::oid and relnamespace = 'sluice'::regnamespace`,
    [oid],
  )
  if (!tableRows[0]) return false
  const table = qualifyName('sluice', tableRows[0].name)
  await client.query(`lock table only ${table} in access exclusive mode`)
  const { rows: locked } = await client.query<{ file: number; comment: string | null }>(
    `select pg_relation_filenode(oid)::int8::float8 as file, obj_description(oid, 'pg_class') as comment from pg_class
     where oid = $1::int8::oid and relname = $2 and not relispartition
       and relname not in (select partition_name from sluice.kept_table where partition_name is not null)`,
    [oid, tableRows[0].name],
  )
  const { run, attempt, merged } = parseStagingComment(locked[0]?.comment) ?? {}
  const { target, stagingTable, written } = load
  if (run !== target.run || attempt === undefined || attempt >= target.attempt || merged) return false
  // After a server crash, the table may exist without the rows of its last commits.
  const { rows } = await client.query<{ count: number }>(`select count(*)::float8 as count from ${table}`)
  if (rows[0]!.count !== written?.rows) return false
  await client.query(
    `alter table ${table} rename to ${escapeIdentifier(stagingTable)}; ${commentOnStaging(stagingTable, target)}`,
  )
  // The earlier attempt rewrote the rows. Rewritten rows are invisible to readers with older snapshots.
  if (locked[0]!.file !== file) load.older = [await listOlderSnapshots(client)]
  return true
}
